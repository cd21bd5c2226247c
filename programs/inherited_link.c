/* A library to be loaded before others: it says where links lead, and knows no other answer. */
#include <stddef.h>
#include <sys/types.h>

ssize_t readlink(const char *path, char *buffer, size_t size)
{
  static const char target[] = "faked";
  size_t length;
  /* The program's own name is looked up in this way too. */
  if (path[1] == 'p') return -1;
  for (length = 0; length < sizeof target - 1 && length < size; length++) buffer[length] = target[length];
  return (ssize_t)length;
}
