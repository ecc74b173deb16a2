//! Topics, of the extension of that name: until a changeset is public, it may have a topic, and its branch then means others only.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};

use super::{Revisions, Target};
use crate::abort::Abort;
use crate::bytes::bytes;
use crate::checkout::Phase;
use crate::stored::Store;

impl Revisions<'_> {
    /// Lets names mean topics from now on, too.
    pub fn know_topics(&mut self) {
        self.knows_topics = true;
    }

    /// Returns the topics of the visible changesets that have one, by their numbers.
    ///
    /// # Errors
    /// Phases or a changeset cannot be read, or are damaged.
    pub(super) fn topics(&mut self) -> Result<&HashMap<u32, BString>, Abort> {
        let topics = match self.topics.take() {
            Some(known) => known,
            None if self.knows_topics => self.read_topics()?,
            None => HashMap::new(),
        };
        Ok(self.topics.insert(topics))
    }

    fn read_topics(&mut self) -> Result<HashMap<u32, BString>, Abort> {
        let phases = self.phases()?;
        let mut topics = HashMap::new();
        for number in self.visible() {
            let phase = phases.get(number as usize);
            if phase.is_some_and(|phase| *phase == Phase::Public) {
                continue;
            }
            if let Some(topic) = Store::changeset(&mut self.changelog, number)?.topic {
                topics.insert(number, topic);
            }
        }
        Ok(topics)
    }

    /// Returns the newest changeset of a topic.
    ///
    /// # Errors
    /// The name is one of a changeset in a stack, which only Mercurial knows. Or as for [`Self::topics`].
    pub(super) fn topic(&mut self, name: &BStr) -> Result<Option<Target>, Abort> {
        if !self.knows_topics {
            return Ok(None);
        }
        if let [b's' | b't', digits @ ..] = name.as_bytes()
            && !digits.is_empty()
            && digits.iter().all(u8::is_ascii_digit)
        {
            return Err(Abort::unsupported(bytes!(
                "the place '",
                name,
                "' in a stack"
            )));
        }
        if name.contains_str("//") {
            let said = bytes!("the branch and topic '", name, "'");
            return Err(Abort::unsupported(said));
        }
        let topics = self.topics()?.iter();
        let numbers = topics.filter_map(|(number, topic)| (topic == name).then_some(*number));
        Ok(numbers.max().map(Target::Changeset))
    }
}
