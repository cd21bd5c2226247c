//! The layout of the screen, for drawing and for paging.

use ratatui::layout::Rect;

use super::state::Tab;

/// The areas of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The program and the clocks.
    pub header: Rect,
    /// The tabs.
    pub tabs: Rect,
    /// The view.
    pub body: Rect,
    /// The time line.
    pub slider: Rect,
    /// The last message, or the keys.
    pub status: Rect,
}

/// The number of rows outside the body.
const FRAME: u16 = 4;

impl Layout {
    /// The layout of a screen.
    pub fn of(screen: Rect) -> Layout {
        let row = |y: u16| {
            let height = u16::from(y < screen.height);
            Rect { y: screen.y + y.min(screen.height), height, ..screen }
        };
        let body = screen.height.saturating_sub(FRAME);
        Layout {
            header: row(0),
            tabs: row(1),
            body: Rect { y: screen.y + 2.min(screen.height), height: body, ..screen },
            slider: row(2 + body),
            status: row(3 + body),
        }
    }

    /// The part of the body that contains a view's list and its headings.
    pub fn list(self, tab: Tab) -> Rect {
        let body = self.body;
        match tab {
            // The warnings are at the bottom.
            Tab::Overview => below(body, body.height - warnings_height(body)),
            Tab::Gc => Rect { height: gc_list_height(body), ..body },
            _ => body,
        }
    }

    /// The part of the body that is not the list.
    pub fn beside_list(self, tab: Tab) -> Rect {
        let body = self.body;
        match tab {
            Tab::Overview => Rect { height: body.height - warnings_height(body), ..body },
            Tab::Gc => below(body, gc_list_height(body)),
            _ => Rect { height: 0, ..body },
        }
    }

    /// The number of visible rows of a list, without the headings.
    pub fn page(self, tab: Tab) -> usize {
        usize::from(self.list(tab).height.saturating_sub(1))
    }
}

fn warnings_height(body: Rect) -> u16 {
    (body.height / 4).min(10)
}

fn gc_list_height(body: Rect) -> u16 {
    // The number of the runtime's numbers, if there is space for them.
    (body.height / 2 + 1).min(15).min(body.height)
}

/// The area without its top `rows`.
pub fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// The area without its leftmost `columns`.
pub fn right_of(area: Rect, columns: u16) -> Rect {
    let columns = columns.min(area.width);
    Rect { x: area.x + columns, width: area.width - columns, ..area }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fit_on_any_screen() {
        for height in 0..60 {
            let screen = Rect::new(0, 0, 80, height);
            let layout = Layout::of(screen);
            let parts = [layout.header, layout.tabs, layout.body, layout.slider, layout.status];
            let rows: u16 = parts.iter().map(|part| part.height).sum();
            assert!(rows <= height && parts.iter().all(|part| part.bottom() <= height));
            for tab in Tab::ALL {
                let (list, rest) = (layout.list(tab), layout.beside_list(tab));
                assert_eq!(list.height + rest.height, layout.body.height);
            }
        }
    }
}
