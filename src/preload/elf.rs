//! Which loaded object defines a symbol: the look-ups that dlsym cannot make.
//!
//! dlsym sees global scopes and those of a handle; it sees neither an object that was loaded with
//! RTLD_LOCAL nor one whose loading is under way. Here the loader's list of objects is walked and
//! their own hash tables are read (System V ABI, chapter 5, and the GNU hash table).
#![expect(unsafe_code, reason = "reads the tables of loaded objects in memory")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

/// A loaded object's tables.
#[derive(Clone, Copy)]
pub struct Object {
    base: usize,
    symbols: *const libc::Elf64_Sym,
    strings: *const c_char,
    gnu_hash: *const u32,
    sysv_hash: *const u32,
}

// Tags of the dynamic section.
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// A symbol's type (lower half of `st_info`) that says: a function that answers the address.
pub const STT_GNU_IFUNC: u8 = 10;

/// The first object, in load order, that `choose` answers something for. Our own is left out, and
/// so is any other copy of us, which has all names and no function behind them.
pub fn find<T>(mut choose: impl FnMut(&Object) -> Option<T>) -> Option<T> {
    walk(|object| {
        let is_copy = object.is_ours() || object.symbol(c"pas_version").is_some();
        if is_copy { None } else { choose(object) }
    })
}

/// The object that we are in.
pub fn ours() -> Option<Object> {
    walk(|object| object.is_ours().then_some(*object))
}

/// Shows every object, in load order, to `choose` until that answers something.
fn walk<T, F: FnMut(&Object) -> Option<T>>(choose: F) -> Option<T> {
    struct State<T, F> {
        choose: F,
        found: Option<T>,
    }
    unsafe extern "C" fn visit<T, F: FnMut(&Object) -> Option<T>>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        state: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a live info, and `state` is the one below.
        unsafe {
            let state = &mut *state.cast::<State<T, F>>();
            state.found = Object::read(&*info).and_then(|object| (state.choose)(&object));
            c_int::from(state.found.is_some())
        }
    }
    let mut state = State { choose, found: None };
    // SAFETY: `visit` fits the callback's type, and the state outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit::<T, F>), (&raw mut state).cast()) };
    state.found
}

impl Object {
    /// Reads an object's dynamic section; `None` for one without symbols.
    ///
    /// # Safety
    /// `info` is the loader's, of an object that stays loaded meanwhile.
    unsafe fn read(info: &libc::dl_phdr_info) -> Option<Object> {
        let base = info.dlpi_addr as usize;
        // SAFETY: the loader's headers, as many as it says; the dynamic section ends in a zero
        // tag.
        unsafe {
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
            let mut entry = (base + dynamic.p_vaddr as usize) as *const [i64; 2];
            // Some objects' addresses are already those in memory, others' are still relative.
            let address = |value: i64| match value as usize {
                value if value < base => base + value,
                value => value,
            };
            let (mut symbols, mut strings, mut gnu, mut sysv) = (0, 0, 0, 0);
            while (*entry)[0] != 0 {
                let [tag, value] = *entry;
                match tag {
                    DT_SYMTAB => symbols = address(value),
                    DT_STRTAB => strings = address(value),
                    DT_GNU_HASH => gnu = address(value),
                    DT_HASH => sysv = address(value),
                    _ => {}
                }
                entry = entry.add(1);
            }
            let object = Object {
                base,
                symbols: symbols as *const _,
                strings: strings as *const _,
                gnu_hash: gnu as *const _,
                sysv_hash: sysv as *const _,
            };
            (symbols != 0 && strings != 0 && gnu + sysv != 0).then_some(object)
        }
    }

    /// True for the object that this code is in.
    fn is_ours(&self) -> bool {
        unsafe extern "C" {
            /// The linker's name for this object's own first byte.
            static __ehdr_start: c_void;
        }
        // The address alone is taken.
        (&raw const __ehdr_start) as usize == self.base
    }

    /// The address of a function or variable that the object defines.
    pub fn address_of(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let symbol = self.symbol(name)?;
        // SAFETY: `symbol` points into the object's table.
        let (value, kind) = unsafe { ((*symbol).st_value as usize, (*symbol).st_info & 15) };
        if value == 0 || kind == STT_GNU_IFUNC {
            return None;
        }
        NonNull::new((self.base + value) as *mut c_void)
    }

    /// The object's entry for a symbol that it defines.
    pub fn symbol(&self, name: &CStr) -> Option<*mut libc::Elf64_Sym> {
        // SAFETY: the tables are those of a loaded object.
        let symbol = unsafe {
            match self.gnu_hash.is_null() {
                false => self.by_gnu_hash(name)?,
                true => self.by_sysv_hash(name)?,
            }
        };
        // SAFETY: as above. A symbol of section 0 is one that the object needs.
        let is_defined = unsafe { (*symbol).st_shndx != 0 };
        is_defined.then_some(symbol.cast_mut())
    }

    /// # Safety
    /// The object has a GNU hash table: its size, the first symbol in it, the filter's size and
    /// shift, the filter, the buckets, and a chain of hashes whose lowest bit ends a bucket.
    unsafe fn by_gnu_hash(&self, name: &CStr) -> Option<*const libc::Elf64_Sym> {
        let bytes = name.to_bytes();
        let hash =
            bytes.iter().fold(5381u32, |h, byte| h.wrapping_mul(33).wrapping_add((*byte).into()));
        // SAFETY: the caller's.
        unsafe {
            let table = self.gnu_hash;
            let [buckets, first, filter_words, shift] = *table.cast::<[u32; 4]>();
            if buckets == 0 || filter_words == 0 {
                return None;
            }
            let filter = table.add(4).cast::<u64>();
            let word = filter.add((hash as usize / 64) % filter_words as usize).read_unaligned();
            let bits = 1u64 << (hash % 64) | 1u64 << ((hash >> (shift & 31)) % 64);
            if word & bits != bits {
                return None;
            }
            let bucket = table.add(4 + 2 * filter_words as usize);
            let chain = bucket.add(buckets as usize);
            let mut index = *bucket.add((hash % buckets) as usize);
            if index < first {
                return None;
            }
            loop {
                let link = *chain.add((index - first) as usize);
                if link | 1 == hash | 1 && self.is_named(index, name) {
                    return Some(self.symbols.add(index as usize));
                }
                if link & 1 == 1 {
                    return None;
                }
                index += 1;
            }
        }
    }

    /// # Safety
    /// The object has a System V hash table: the numbers of buckets and of chain links, then both.
    unsafe fn by_sysv_hash(&self, name: &CStr) -> Option<*const libc::Elf64_Sym> {
        let hash = name.to_bytes().iter().fold(0u32, |h, byte| {
            let h = (h << 4).wrapping_add(u32::from(*byte));
            let high = h & 0xf000_0000;
            (h ^ (high >> 24)) & !high
        });
        // SAFETY: the caller's.
        unsafe {
            let [buckets, _] = *self.sysv_hash.cast::<[u32; 2]>();
            if buckets == 0 {
                return None;
            }
            let mut index = *self.sysv_hash.add(2 + (hash % buckets) as usize);
            while index != 0 {
                if self.is_named(index, name) {
                    return Some(self.symbols.add(index as usize));
                }
                index = *self.sysv_hash.add(2 + buckets as usize + index as usize);
            }
            None
        }
    }

    /// # Safety
    /// The index is below the table's length.
    unsafe fn is_named(&self, index: u32, name: &CStr) -> bool {
        // SAFETY: the caller's; the names of symbols are C strings in the string table.
        unsafe {
            let symbol = self.symbols.add(index as usize);
            CStr::from_ptr(self.strings.add((*symbol).st_name as usize)) == name
        }
    }

    /// A value of a symbol's entry that stands for an address in the object.
    pub fn value_of(&self, address: *const c_void) -> u64 {
        (address as usize - self.base) as u64
    }

    /// The address that a symbol's value stands for.
    pub fn address_at(&self, value: u64) -> *mut c_void {
        (self.base + value as usize) as *mut c_void
    }
}
