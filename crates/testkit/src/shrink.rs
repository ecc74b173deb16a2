//! Reduces a failing list of items.

/// Deletes parts of `items` as long as `fails` still returns true, in at most `tries_max` tries.
///
/// Deletes halves first, then smaller and smaller parts, from the end to the beginning, since late items depend
/// on early ones (Zeller's ddmin, without its complement step, which deleting one part at a time covers).
pub fn shrink<T: Clone>(
    items: Vec<T>,
    tries_max: usize,
    fails: &mut dyn FnMut(&[T]) -> bool,
) -> Vec<T> {
    let mut current = items;
    let mut tries = 0;
    let mut size = current.len().div_ceil(2).max(1);
    loop {
        let mut deleted = false;
        let mut end = current.len();
        while end > 0 {
            if tries >= tries_max {
                return current;
            }
            tries += 1;
            let start = end.saturating_sub(size);
            let mut candidate = current.clone();
            candidate.drain(start..end);
            if fails(&candidate) {
                current = candidate;
                deleted = true;
            }
            end = start;
        }
        if size == 1 && !deleted {
            return current;
        }
        if !deleted || size > current.len() {
            size = size.div_ceil(2).min(current.len()).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matters_stays() {
        let mut tries = 0;
        let small = shrink((0..100).collect(), 1000, &mut |items: &[i32]| {
            tries += 1;
            items.contains(&3) && items.contains(&97) && items.contains(&50)
        });
        assert_eq!(small, [3, 50, 97]);
        assert!(tries < 200, "{tries}");
    }

    #[test]
    fn tries_are_limited() {
        let mut tries = 0;
        shrink((0..100).collect(), 5, &mut |_: &[i32]| {
            tries += 1;
            false
        });
        assert_eq!(tries, 5);
    }

    #[test]
    fn an_empty_list_stays() {
        assert!(shrink(Vec::<u8>::new(), 10, &mut |_| true).is_empty());
    }
}
