//! File systems that the user may want to unmount while the daemon runs.

use std::path::Path;

use bstr::ByteSlice;
use vigil_git::environment::Environment;
use vigil_linux::stat::mount_id;

/// Whether `path` is on another mount than `/` and the user's home, as on a removable disk. False if that is not known.
pub(crate) fn can_be_unmounted(path: &Path, environment: &Environment) -> bool {
    let mount = |path: &Path| mount_id(path).ok().flatten();
    let home = environment.get("HOME");
    let home = home.and_then(|home| home.to_path().ok().map(mount));
    mount(path).is_some_and(|own| Some(own) != mount(Path::new("/")) && Some(Some(own)) != home)
}
