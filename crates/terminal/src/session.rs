//! An observed program's data: whatever the source of the numbers, views see only this.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use bactrian_live::recording::Recorder;
use bactrian_live::{Action, Database, Event, Limits};

/// A message from a source of numbers.
#[derive(Debug)]
pub enum Message {
    /// An event from the program.
    Event(Event),
    /// The new state of the source.
    Status(Status),
    /// A sentence for people.
    Notice(String),
}

/// The state of the source of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Numbers are arriving.
    Live,
    /// The connection was lost, with the reason; it is retried.
    Lost(String),
    /// The numbers are from a file.
    Replay,
    /// No more numbers will arrive.
    Over,
}

/// Sends a request to the program. The result comes later, as a notice.
pub type Wish = Box<dyn FnMut(Action) -> Result<(), String> + Send>;

/// Publishes the data and the state of its source, for other programs.
pub type Publisher = Box<dyn FnMut(&Database, &Status) + Send>;

/// The observed program.
pub struct Session {
    database: Database,
    messages: Receiver<Message>,
    wish: Option<Wish>,
    recorder: Option<Recorder>,
    publisher: Option<Publisher>,
    /// When it was published last, and whether the program was up then.
    published: Option<(Instant, bool)>,
    status: Status,
    /// Whether no more can arrive.
    is_over: bool,
    notices: VecDeque<String>,
}

/// The shortest time between publications.
const PUBLISH_EVERY: Duration = Duration::from_millis(500);

impl Session {
    /// A session that receives from a channel.
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

    /// Adds a way to send requests to the program.
    pub fn with_wish(self, wish: Wish) -> Session {
        Session { wish: Some(wish), ..self }
    }

    /// Adds a file that records everything that arrives.
    pub fn with_recorder(self, recorder: Recorder) -> Session {
        Session { recorder: Some(recorder), ..self }
    }

    /// Adds a publisher.
    pub fn with_publisher(self, publisher: Publisher) -> Session {
        Session { publisher: Some(publisher), ..self }
    }

    /// The data.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The state of the source.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Receives all waiting messages without blocking. Returns whether there were any.
    ///
    /// # Errors
    /// If the recording cannot be written; the recording ends then, but the session continues.
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

    /// Waits for a message for at most `time`, and receives all.
    ///
    /// # Errors
    /// As for [`Session::take_in`].
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
        // The end of the numbers is published at once: it may be the last publication.
        let is_up = self.status == Status::Live && self.database.ended().is_none();
        let is_due = self
            .published
            .is_none_or(|(last, was_up)| last.elapsed() >= PUBLISH_EVERY || was_up != is_up);
        if let Some(publisher) = self.publisher.as_mut().filter(|_| is_due) {
            publisher(&self.database, &self.status);
            self.published = Some((Instant::now(), is_up));
        }
    }

    /// Whether no more can arrive: the program or the recording has ended.
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

    /// Writes the recording to disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), Recorder::flush)
    }

    /// Sends a request to the program; the result is among the notices later.
    ///
    /// # Errors
    /// If the request cannot be sent, with the reason.
    pub fn wish(&mut self, action: Action) -> Result<(), String> {
        match &mut self.wish {
            Some(wish) => wish(action),
            None => Err("not possible: the data is from a file".to_owned()),
        }
    }

    /// The next notice for the user.
    pub fn notice(&mut self) -> Option<String> {
        self.notices.pop_front()
    }
}
