/* The part of early_thread.ml that is written in C. */
#include <caml/mlvalues.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_t thread;
static int ends[2];
static int error;

/* Waits for the number of a descriptor. */
static void *work(void *unused)
{
  int descriptor;
  (void)unused;
  if (read(ends[0], &descriptor, sizeof descriptor) != sizeof descriptor
      || write(descriptor, "data\n", 5) != 5)
    error = errno;
  return NULL;
}

__attribute__((constructor)) static void begin(void)
{
  if (pipe(ends) != 0 || pthread_create(&thread, NULL, work, NULL) != 0) _exit(3);
}

value write_by_early_thread(value file)
{
  int descriptor = Int_val(file);
  if (write(ends[1], &descriptor, sizeof descriptor) != sizeof descriptor) _exit(4);
  pthread_join(thread, NULL);
  printf("the other thread: %s\n", error == 0 ? "written" : strerror(error));
  fflush(stdout);
  return Val_unit;
}
