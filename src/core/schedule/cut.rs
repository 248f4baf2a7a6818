//! How a vector is divided into blocks.

/// A run of blocks: `first`, `first + 1`, ... taken modulo the number of blocks.
///
/// In an alltoall a block is what goes to one destination, and the blocks of a Bruck step are
/// those whose way has bit `first` set (they are not a run). In a butterfly without a last mirror
/// step the blocks are numbered by the ranks' bits in reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The first block.
    pub first: u32,
    /// How many.
    pub blocks: u32,
}

/// The rule by which a vector is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// As evenly as can be, the first blocks one element larger.
    Even,
    /// Halves, halves of halves and so on, the first half of each never the larger one.
    Halving,
    /// Blocks of so many elements; the last ones are shorter or empty.
    Runs(u64),
    /// Every block has as many elements as the call's block.
    Blocks,
}

/// A vector cut into blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Elements of the whole vector, or of one block under [`How::Blocks`].
    elements: u64,
    element_bytes: u64,
    /// Bytes that are no whole element; they go with the last block.
    rest_bytes: u64,
    blocks: u32,
    how: How,
}

impl Cut {
    /// Cuts `bytes` that hold `elements` elements (0: each byte is one) into `blocks` blocks.
    pub(super) fn new(bytes: u64, elements: u32, blocks: u32, how: How) -> Cut {
        let elements = if elements == 0 { bytes } else { u64::from(elements) };
        let element_bytes = bytes.checked_div(elements).unwrap_or(0);
        let rest_bytes = bytes - element_bytes * elements;
        Cut { elements, element_bytes, rest_bytes, blocks: blocks.max(1), how }
    }

    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The part that is the whole vector.
    pub(super) fn whole(&self) -> Part {
        Part { first: 0, blocks: self.blocks }
    }

    /// Bytes before block `block`.
    fn offset(&self, block: u32) -> u64 {
        let index = u64::from(block);
        let blocks = u64::from(self.blocks);
        let elements = match self.how {
            How::Even => self.elements / blocks * index + index.min(self.elements % blocks),
            How::Halving => halving_offset(self.elements, self.blocks, block),
            How::Runs(size) => size.saturating_mul(index).min(self.elements),
            How::Blocks => self.elements.saturating_mul(index),
        };
        let rest = match self.how {
            How::Blocks => self.rest_bytes * index,
            _ if block == self.blocks => self.rest_bytes,
            _ => 0,
        };
        elements.saturating_mul(self.element_bytes).saturating_add(rest)
    }

    /// Bytes of a part.
    pub(super) fn bytes(&self, part: Part) -> u64 {
        let first = part.first % self.blocks;
        let end = first + part.blocks.min(self.blocks);
        if end <= self.blocks {
            self.offset(end) - self.offset(first)
        } else {
            self.offset(self.blocks) - self.offset(first) + self.offset(end - self.blocks)
        }
    }
}

/// Elements before leaf `block` of a vector that is halved until there are `blocks` leaves.
fn halving_offset(elements: u64, blocks: u32, block: u32) -> u64 {
    let (mut window, mut leaves, mut index, mut offset) = (elements, blocks, block, 0);
    if index == leaves {
        return elements;
    }
    while leaves > 1 {
        leaves /= 2;
        if index < leaves {
            window /= 2;
        } else {
            offset += window / 2;
            window -= window / 2;
            index -= leaves;
        }
    }
    offset
}
