//! The program drops privileges: it changes its user, its groups, or its root directory.
//!
//! Its children have our file in `LD_PRELOAD`. If a child may not open that file, which may be in a directory
//! that only the former user can read, the dynamic linker reports so on its standard error, which the program
//! may be reading. A child that can load us but not write to the traces' directory would get such a message
//! from us. So, whenever privileges have changed, we check whether a child could do both. If not, we remove
//! ourselves from the environment: such children are not followed.
//!
//! We check when privileges change and not when children are started: there are many ways to start one, and
//! most are inside libc (`system`, `posix_spawn`), where nobody can interpose. Making our file readable for
//! everybody would not be enough: in another root it does not exist at all.

use core::ffi::{CStr, c_char, c_int};

use bactrian_agent_abi::variable;
use bactrian_agent_os::confined;
use bactrian_agent_os::sys::{self, Access, Errno};

use super::behind::Real;
use super::{environment, rings};
use crate::keeper::filters;

/// The kernel does not open longer paths.
const LONGEST: usize = 4096;

/// Removes us from the environment if children can no longer be followed.
fn look() {
    filters::ask();
    if confined::is_confined() {
        return;
    }
    // The program may have replaced its environment since.
    environment::look();
    let outputs = [variable::TRACE, variable::HEAP, variable::HEIR, variable::WARD];
    let can_fill = |name: &&str| {
        environment::get(name).is_none_or(|path| is_possible(Access::Fill, folder_of(path)))
    };
    if !is_possible(Access::Read, environment::us()) || !outputs.iter().all(can_fill) {
        environment::forget_us();
    }
}

/// Whether the access is possible; yes if unknown.
fn is_possible(access: Access, path: &[u8]) -> bool {
    let mut buffer = [0; LONGEST];
    let Some(place) = buffer.get_mut(..path.len()) else { return false };
    place.copy_from_slice(path);
    match CStr::from_bytes_until_nul(&buffer).map(|path| sys::may(access, path)) {
        Ok(Err(Errno::ACCES | Errno::NOENT | Errno::NOTDIR)) | Err(_) => false,
        Ok(_) => true,
    }
}

fn folder_of(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(0) => b"/",
        Some(slash) => &path[..slash],
        None => b".",
    }
}

macro_rules! rights {
    ($($name:ident($($argument:ident: $type:ty),*) $(becomes $user:ident)?;)*) => {
        $(
            /// # Safety
            /// As for the function of libc.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                static BEHIND: Real = Real::new(stringify!($name));
                type Change = unsafe extern "C" fn($($type),*) -> c_int;
                // SAFETY: libc's type of it.
                let Some(behind) = (unsafe { BEHIND.function::<Change>() }) else {
                    sys::set_errno(Errno::NOSYS);
                    return -1;
                };
                $(let before = rings::give($user);)?
                // SAFETY: by the caller.
                let result = unsafe { behind($($argument),*) };
                if result == 0 {
                    look();
                    return 0;
                }
                $(
                    let _ = $user;
                    before.and_then(rings::give);
                )?
                result
            }
        )*
    };
}

rights! {
    setuid(user: u32) becomes user;
    seteuid(user: u32) becomes user;
    setreuid(real: u32, effective: u32) becomes effective;
    setresuid(real: u32, effective: u32, saved: u32) becomes effective;
    setgid(group: u32);
    setegid(group: u32);
    setregid(real: u32, effective: u32);
    setresgid(real: u32, effective: u32, saved: u32);
    setgroups(count: usize, groups: *const u32);
    initgroups(user: *const c_char, group: u32);
    chroot(path: *const c_char);
}
