//! What is known of the program that is watched: whatever the numbers come from, views see only this.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use bactrian_live::recording::Recorder;
use bactrian_live::{Action, Database, Event, Limits};

/// What a source of numbers says.
#[derive(Debug)]
pub enum Message {
    /// Something from the program.
    Event(Event),
    /// How it stands with the source.
    Status(Status),
    /// A sentence for people.
    Notice(String),
}

/// How it stands with what the numbers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Numbers are coming.
    Live,
    /// None are coming, and why; it is tried again.
    Lost(String),
    /// They are from a file.
    Replay,
    /// No more will come.
    Over,
}

/// Asks the program for something. What becomes of it is said later, as a notice.
pub type Wish = Box<dyn FnMut(Action) -> Result<(), String> + Send>;

/// Gives what is known to others, and how it stands with where it comes from.
pub type Publisher = Box<dyn FnMut(&Database, &Status) + Send>;

/// The program that is watched.
pub struct Session {
    database: Database,
    messages: Receiver<Message>,
    wish: Option<Wish>,
    recorder: Option<Recorder>,
    publisher: Option<Publisher>,
    /// When that was done last, and whether the program was there.
    published: Option<(Instant, bool)>,
    status: Status,
    /// Whether no more can come.
    is_over: bool,
    notices: VecDeque<String>,
}

/// Numbers for others are made anew so often at most.
const PUBLISH_EVERY: Duration = Duration::from_millis(500);

impl Session {
    /// With numbers that come through a channel.
    pub fn new(messages: Receiver<Message>, limits: Limits) -> Session {
        let database = Database::new(limits);
        Session {
            database,
            messages,
            wish: None,
            recorder: None,
            publisher: None,
            published: None,
            status: Status::Live,
            is_over: false,
            notices: VecDeque::new(),
        }
    }

    /// With a way to ask the program for something.
    pub fn with_wish(self, wish: Wish) -> Session {
        Session { wish: Some(wish), ..self }
    }

    /// With a file for all that comes.
    pub fn with_recorder(self, recorder: Recorder) -> Session {
        Session { recorder: Some(recorder), ..self }
    }

    /// With a publisher of the numbers.
    pub fn with_publisher(self, publisher: Publisher) -> Session {
        Session { publisher: Some(publisher), ..self }
    }

    /// What is known.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// How it stands with where numbers come from.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Takes in all that has come, without waiting. Says whether there was anything.
    ///
    /// # Errors
    /// If the recording cannot be written; it ends there, the rest goes on.
    pub fn take_in(&mut self) -> io::Result<bool> {
        let mut any = false;
        loop {
            match self.messages.try_recv() {
                Ok(message) => self.add(message)?,
                Err(TryRecvError::Empty) => {
                    self.publish();
                    return Ok(any);
                }
                Err(TryRecvError::Disconnected) => {
                    self.over()?;
                    return Ok(any);
                }
            }
            any = true;
        }
    }

    /// Waits until something comes, or a time has passed, and takes it in.
    ///
    /// # Errors
    /// As of [`Session::take_in`].
    pub fn wait(&mut self, time: Duration) -> io::Result<()> {
        match self.messages.recv_timeout(time) {
            Ok(message) => {
                self.add(message)?;
                self.take_in().map(drop)
            }
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => self.over(),
        }
    }

    fn add(&mut self, message: Message) -> io::Result<()> {
        match message {
            Message::Event(event) => {
                if let Event::Answer { result, .. } = &event {
                    let said = match result {
                        Ok(done) => done.clone(),
                        Err(reason) => format!("not done: {reason}"),
                    };
                    self.notices.push_back(said);
                }
                let recorded =
                    self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.add(&event));
                self.database.add(event);
                if recorded.is_err() {
                    self.recorder = None;
                }
                recorded
            }
            Message::Status(status) => {
                self.is_over |= status == Status::Over;
                self.status = status;
                Ok(())
            }
            Message::Notice(notice) => {
                self.notices.push_back(notice);
                Ok(())
            }
        }
    }

    fn publish(&mut self) {
        // That nothing comes any more is told at once: it may be the last that is told.
        let is_up = self.status == Status::Live && self.database.ended().is_none();
        let is_due = self
            .published
            .is_none_or(|(last, was_up)| last.elapsed() >= PUBLISH_EVERY || was_up != is_up);
        if let Some(publisher) = self.publisher.as_mut().filter(|_| is_due) {
            publisher(&self.database, &self.status);
            self.published = Some((Instant::now(), is_up));
        }
    }

    /// Whether no more can come: the program has ended, or the recording.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn over(&mut self) -> io::Result<()> {
        self.is_over = true;
        if self.status != Status::Replay {
            self.status = Status::Over;
        }
        self.publish();
        self.flush()
    }

    /// Brings the recording onto the disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), Recorder::flush)
    }

    /// Asks the program for something; what becomes of it is among the notices later.
    ///
    /// # Errors
    /// Why it cannot even be asked.
    pub fn wish(&mut self, action: Action) -> Result<(), String> {
        match &mut self.wish {
            Some(wish) => wish(action),
            None => Err("nobody is there to do that: the numbers are from a file".to_owned()),
        }
    }

    /// The next sentence that people should see.
    pub fn notice(&mut self) -> Option<String> {
        self.notices.pop_front()
    }
}
