# SPDX-License-Identifier: Apache-2.0
"""Writes what is made from registers.yaml: the register file and constants of the card in SystemVerilog, the header for
C++, the module for Python, and docs/reference/nanet-io.md.

    python rtl/registers/make_registers.py            writes them
"""

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("registers.yaml")
WORD_BYTES, ADDRESS_BITS = 4, 13
LICENCE = "SPDX-License-Identifier: Apache-2.0"
MADE = "Made by rtl/registers/make_registers.py from registers.yaml."
ACCESS = {"constant": "constant", "rw": "read, write", "pulse": "write", "ro": "read", "count": "read"}


class MistakeError(ValueError):
    """In registers.yaml."""


@dataclass(frozen=True)
class Register:
    """offset: from its block's base, bytes."""

    name: str
    access: str
    about: str
    offset: int
    width: int = 32
    reset: int = 0


@dataclass(frozen=True)
class Block:
    """n: number of such blocks, stride bytes apart; table: its writes are passed on, see registers.yaml."""

    name: str
    about: str
    base: int
    registers: tuple[Register, ...]
    n: int = 1
    stride: int = 0
    table: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        registers = tuple(
            Register(**one, offset=WORD_BYTES * place) for place, one in enumerate(_each(values["registers"]))
        )
        return cls(**{**values, "registers": registers})

    @property
    def n_bytes(self) -> int:
        return (self.n - 1) * self.stride + WORD_BYTES * len(self.registers)

    @property
    def is_counts(self) -> bool:
        return all(one.access == "count" for one in self.registers)

    @property
    def n_index(self) -> int:
        """Places that its index has in an address."""
        return 1 << _index_bits(self.n)

    def address(self, register: Register, index: int = 0) -> int:
        return self.base + index * self.stride + register.offset


@dataclass(frozen=True)
class Field:
    """lowest: its place in the record, bits."""

    name: str
    bits: int
    about: str
    lowest: int


@dataclass(frozen=True)
class Layout:
    """A record in the host's memory, little endian."""

    name: str
    n_bytes: int
    about: str
    fields: tuple[Field, ...]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        lowest, fields = 0, []
        for one in values["fields"]:
            fields.append(Field(**one, lowest=lowest))
            lowest += one["bits"]
        return cls(values["name"], values["bytes"], values["about"], tuple(fields))


@dataclass(frozen=True)
class Card:
    name: str
    blocks: tuple[Block, ...]
    records: tuple[Layout, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises MistakeError."""
        values = yaml.safe_load(text)
        card = cls(values["name"], tuple(map(Block.of, values["blocks"])), tuple(map(Layout.of, values["records"])))
        card._check()
        return card

    @cached_property
    def scalars(self) -> list[tuple[Block, Register, int]]:
        """Registers that are kept or come one by one: (block, register, index)."""
        return [(block, register, index) for block in self.blocks if not block.table and not block.is_counts
                for index in range(block.n) for register in block.registers]  # fmt: skip

    @cached_property
    def tables(self) -> list[Block]:
        return [block for block in self.blocks if block.table]

    @cached_property
    def counts(self) -> Block:
        return next(block for block in self.blocks if block.is_counts)

    def _check(self) -> None:
        taken: dict[int, str] = {}
        for block in self.blocks:
            if block.n > 1 and block.stride < WORD_BYTES * len(block.registers):
                raise MistakeError(f"{block.name}: its registers do not fit into the stride")
            for index in range(block.n):
                for register in block.registers:
                    address, name = block.address(register, index), f"{block.name}.{register.name}"
                    if register.access not in ACCESS or not 1 <= register.width <= 32:
                        raise MistakeError(f"{name}: access must be one of {', '.join(ACCESS)}, and width 1 to 32")
                    if register.reset >= 1 << register.width:
                        raise MistakeError(f"{name}: its value does not fit")
                    if taken.setdefault(address, name) != name or address >= 1 << ADDRESS_BITS:
                        raise MistakeError(f"{name}: the address {address:#06x} is {taken[address]}, or beyond the end")
            if block.table and (block.stride & (block.stride - 1) or block.base % (block.stride * block.n_index)):
                raise MistakeError(f"{block.name}: a table needs a stride that is a power of two, and a base to match")
        for record in self.records:
            if sum(field.bits for field in record.fields) != 8 * record.n_bytes:
                raise MistakeError(f"{record.name}: its fields do not fill it")


def _each(registers: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """NAME_0 and so on for a register with `each`."""
    for one in registers:
        n = one.get("each")
        rest = {key: value for key, value in one.items() if key != "each"}
        yield from [{**rest, "name": f"{one['name']}_{i}"} for i in range(n)] if n else [rest]


def _index_bits(n: int) -> int:
    return max(1, (n - 1).bit_length())


# --- SystemVerilog ------------------------------------------------------------------------------------------------
def bits(width: int) -> str:
    return "" if width == 1 else f"[{width - 1}:0]"


def port(block: Block, register: Register) -> str:
    return f"{block.name}_{register.name}"


def place(block: Block, register: Register, index: int) -> str:
    """Where a register of a block of several is in the port."""
    if block.n == 1:
        return ""
    width = register.width
    return f"[{index}]" if width == 1 else f"[{index * width + width - 1}:{index * width}]"


def constants(card: Card) -> str:
    about = "nanet_io_pkg: addresses of the registers, places in the records."
    lines = [f"// {LICENCE}", "//", f"// {MADE}", "//", f"// {about}", "", "package nanet_io_pkg;"]
    for block in card.blocks:
        lines += [f"    localparam int A_{port(block, one).upper()} = 'h{block.address(one):04x};"
                  for one in block.registers]  # fmt: skip
    lines += [f"    localparam int C_{one.name.upper()} = {place};" for place, one in enumerate(card.counts.registers)]
    lines.append(f"    localparam int N_COUNTS = {len(card.counts.registers)};")
    for record in card.records:
        for field in record.fields:
            name = f"{record.name}_{field.name}".upper()
            lines.append(f"    localparam int {name}_LSB = {field.lowest}, {name}_BITS = {field.bits};")
    return "\n".join([*lines, "endpackage", ""])


def ports(card: Card) -> Iterator[str]:
    for block in card.blocks:
        if block.table or block.is_counts:
            continue
        for register in block.registers:
            if register.access != "constant":
                way = "input  logic" if register.access == "ro" else "output logic"
                yield f"{way} {bits(register.width * block.n):<9}{port(block, register)}"
    for block in card.tables:
        yield f"output logic          {block.name}_write"
        yield f"output logic {bits(_index_bits(block.n)):<9}{block.name}_index"
        yield f"output logic {bits(_index_bits(block.stride // WORD_BYTES)):<9}{block.name}_register"
        yield f"output logic [31:0]   {block.name}_data"
    yield f"input  logic {bits(len(card.counts.registers)):<9}count_pulse"


HEAD = """// {licence}
//
// {made}
//
// nanet_io_registers: the registers as docs/reference/nanet-io.md has them, on AXI4-Lite.
//
// In:  AXI4-Lite; what is read only; pulses that are counted (nanet_io_pkg::C_*).
// Out: what is written. A write to a table (lists of buffers, TLB) is passed on: *_write is 1 for a cycle.
// Latency: 3 cycles from a write to its output, 5 from a read's address to its data. One of each at a time.
// An address without a register, and a write of less than a word, are answered with SLVERR and change nothing.

module nanet_io_registers (
    input  logic        clk,
    input  logic        rst,

    input  logic [{top}:0] s_awaddr,
    input  logic        s_awvalid,
    output logic        s_awready,
    input  logic [31:0] s_wdata,
    input  logic [3:0]  s_wstrb,
    input  logic        s_wvalid,
    output logic        s_wready,
    output logic [1:0]  s_bresp,
    output logic        s_bvalid,
    input  logic        s_bready,
    input  logic [{top}:0] s_araddr,
    input  logic        s_arvalid,
    output logic        s_arready,
    output logic [31:0] s_rdata,
    output logic [1:0]  s_rresp,
    output logic        s_rvalid,
    input  logic        s_rready,

{ports}
);
    localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;

    // --- Writing: both channels are taken together
    logic        write_q, write_known;
    logic [{top}:0] write_address_q;
    logic [31:0] write_data_q;
    logic        write_whole_q;

    assign s_awready = s_awvalid && s_wvalid && !write_q && !s_bvalid;
    assign s_wready  = s_awready;

    always_ff @(posedge clk) begin
        write_q <= s_awready;
        if (s_awready) begin
            write_address_q <= s_awaddr;
            write_data_q    <= s_wdata;
            write_whole_q   <= &s_wstrb;
        end
        if (s_bready) s_bvalid <= 1'b0;
        if (write_q) begin
            s_bvalid <= 1'b1;
            s_bresp  <= write_known && write_whole_q ? OKAY : SLVERR;
        end
        if (rst) begin
            write_q  <= 1'b0;
            s_bvalid <= 1'b0;
        end
    end

    always_comb begin
        case ({{write_address_q[{top}:2], 2'b00}})
{known_scalars}
            default: write_known = {known_tables};
        endcase
    end

    logic write_done;
    assign write_done = write_q && write_whole_q;
    always_ff @(posedge clk) begin
{pulses}        if (write_done) begin
            case ({{write_address_q[{top}:2], 2'b00}})
{writes}
                default: ;
            endcase
        end
        if (rst) begin
{resets}
        end
    end
{table_writes}
    // --- Reading: address, the word in each kind of memory, the one that was meant
    logic        read_1_q, read_2_q, read_3_q;
    logic [{top}:0] read_address_q;
    logic [31:0] scalar_q, scalar_2_q, count_sum, shadow_q, shadow_2_q;
    logic        scalar_known_q, scalar_known_2_q;

    assign s_arready = s_arvalid && !read_1_q && !read_2_q && !read_3_q && !s_rvalid;

    count_bank #(.N({n_counts}), .INDEX_BITS({count_bits})) counts (
        .clk(clk), .rst(rst), .pulse(count_pulse), .index(read_address_q[{count_top}:2]), .count(count_sum));

    // What was written, of which a register's own bits alone are read. From a RAM, as a choice among all registers is
    // large; before a register's first write, what it has from the reset stands among the constants.
    logic        kept_q, kept_2_q;
    logic [{last_kept}:0] written_q;
    logic [31:0] own_bits, own_bits_q, own_bits_2_q;
    logic [31:0] shadow [0:{shadow_last}];
    always_comb begin
        case ({{read_address_q[{top}:2], 2'b00}})
{masks}
            default: own_bits = '1;
        endcase
    end
    logic        keep_q;
    logic [{keep_top}:0] keep_address_q;
    logic [31:0] keep_data_q;
    always_ff @(posedge clk) begin
        keep_q         <= write_done && write_known;
        keep_address_q <= write_address_q[{shadow_top}:2];
        keep_data_q    <= write_data_q;
        if (keep_q) shadow[keep_address_q] <= keep_data_q;
        shadow_q <= shadow[read_address_q[{shadow_top}:2]];
    end
    always_ff @(posedge clk) begin
        if (write_done) begin
            case ({{write_address_q[{top}:2], 2'b00}})
{marks}
                default: ;
            endcase
        end
        if (rst) written_q <= '0;
    end

    always_ff @(posedge clk) begin
        scalar_known_q <= 1'b1;
        kept_q         <= 1'b0;
        case ({{read_address_q[{top}:2], 2'b00}})
{reads}
            default: begin
                scalar_q       <= 32'd0;
                scalar_known_q <= 1'b0;
            end
        endcase
        scalar_2_q       <= scalar_q;
        scalar_known_2_q <= scalar_known_q;
        kept_2_q         <= kept_q;
        shadow_2_q       <= shadow_q;
        own_bits_q       <= own_bits;
        own_bits_2_q     <= own_bits_q;
    end

    logic is_count, is_table;
    assign is_count = {read_counts};
    assign is_table = {read_tables};

    always_ff @(posedge clk) begin
        read_1_q <= s_arready;
        read_2_q <= read_1_q;
        read_3_q <= read_2_q;
        if (s_arready) read_address_q <= s_araddr;
        if (s_rready) s_rvalid <= 1'b0;
        if (read_3_q) begin
            s_rvalid <= 1'b1;
            s_rdata  <= is_count ? count_sum : is_table || kept_2_q ? shadow_2_q & own_bits_2_q : scalar_2_q;
            s_rresp  <= is_count || is_table || scalar_known_2_q ? OKAY : SLVERR;
        end
        if (rst) begin
            read_1_q <= 1'b0;
            read_2_q <= 1'b0;
            read_3_q <= 1'b0;
            s_rvalid <= 1'b0;
        end
    end
endmodule
"""


def in_block(block: Block, address: str) -> str:
    """Whether an address is one of the block's registers."""
    if not block.table:
        last = block.base + block.n_bytes - WORD_BYTES
        return f"({address} >= 13'h{block.base:04x} && {address} <= 13'h{last + 3:04x})"
    low, index = _index_bits(block.stride), _index_bits(block.n)
    parts = [
        f"{address}[{ADDRESS_BITS - 1}:{low + index}] == {ADDRESS_BITS - low - index}'d{block.base >> (low + index)}"
    ]
    if block.n < 1 << index:
        parts.append(f"{address}[{low + index - 1}:{low}] < {index}'d{block.n}")
    if len(block.registers) * WORD_BYTES < block.stride:
        parts.append(f"{address}[{low - 1}:2] < {low - 2}'d{len(block.registers)}")
    return "(" + " && ".join(parts) + ")"


def register_file(card: Card) -> str:
    written = [(b, r, i) for b, r, i in card.scalars if r.access in ("rw", "pulse")]
    top, table = ADDRESS_BITS - 1, " || ".join(in_block(block, "write_address_q") for block in card.tables)
    kept = [(b, r, i) for b, r, i in written if r.access == "rw"]
    shadow_bits = max((b.base + b.n_bytes - 1).bit_length() for b in (*card.tables, *(b for b, _, _ in kept)))
    count_bits = _index_bits(len(card.counts.registers) + 1)

    def label(block: Block, register: Register, index: int) -> str:
        return f"13'h{block.address(register, index):04x}"

    pulses = "".join(f"        {port(b, r)} <= '0;\n" for b, r, i in written if r.access == "pulse" and i == 0)
    return HEAD.format(
        licence=LICENCE, made=MADE, top=top, ports=",\n".join(f"    {line}" for line in ports(card)),
        known_scalars="            " + ",\n            ".join(label(*one) for one in written) + ": write_known = 1'b1;",
        known_tables=table, pulses=pulses,
        writes="\n".join(
            f"                {label(b, r, i)}: {port(b, r)}{place(b, r, i)} <= write_data_q[{r.width - 1}:0];"
            for b, r, i in written
        ),
        resets="\n".join(
            f"            {port(b, r)} <= {r.width * b.n}'d{r.reset};" for b, r, i in written if i == 0
        ),
        table_writes="".join(_table_write(block) for block in card.tables),
        n_counts=len(card.counts.registers), count_bits=count_bits, count_top=count_bits + 1,
        shadow_last=(1 << (shadow_bits - 2)) - 1, shadow_top=shadow_bits - 1, keep_top=shadow_bits - 3,
        last_kept=len(kept) - 1, masks="\n".join(_masks(kept, label)),
        marks="\n".join(
            f"                {label(*one)}: written_q[{place}] <= 1'b1;" for place, one in enumerate(kept)
        ),
        reads="\n".join(
            f"            {label(b, r, i)}: scalar_q <= {_value(b, r, i)};"
            for b, r, i in card.scalars if r.access not in ("pulse", "rw")
        ) + "\n" + "\n".join(
            f"            {label(*one)}: {{kept_q, scalar_q}} <= {{written_q[{place}], 32'h{one[1].reset:08x}}};"
            for place, one in enumerate(kept)
        ),
        read_counts=in_block(card.counts, "read_address_q"),
        read_tables=" || ".join(in_block(block, "read_address_q") for block in card.tables),
    )  # fmt: skip


def _masks(kept: list[tuple[Block, Register, int]], label: Callable[..., str]) -> Iterator[str]:
    """One line for each width."""
    for width in sorted({r.width for _, r, _ in kept} - {32}):
        of_width = textwrap.wrap(", ".join(label(*one) for one in kept if one[1].width == width), 100)
        yield "\n".join(f"            {line}" for line in of_width) + f": own_bits = 32'h{(1 << width) - 1:08x};"


def _value(block: Block, register: Register, index: int) -> str:
    if register.access == "constant":
        return f"32'h{register.reset:08x}"
    value = f"{port(block, register)}{place(block, register, index)}"
    return value if register.width == 32 else f"{{{32 - register.width}'d0, {value}}}"


def _table_write(block: Block) -> str:
    low, index = _index_bits(block.stride), _index_bits(block.n)
    name, known = block.name, in_block(block, "write_address_q")
    return f"""
    always_ff @(posedge clk) begin
        {name}_write    <= write_done && {known} && !rst;
        {name}_index    <= write_address_q[{low + index - 1}:{low}];
        {name}_register <= write_address_q[{low - 1}:2];
        {name}_data     <= write_data_q;
    end
"""


# --- C++ ----------------------------------------------------------------------------------------------------------
def header(card: Card) -> str:
    about = "/// Registers and records of the card: docs/reference/nanet-io.md."
    lines = [f"// {LICENCE}", f"// {MADE}", "// clang-format off", "#pragma once", "", "#include <cstdint>", "", about]
    lines += ["namespace anello::nanet {", ""]
    for block in card.blocks:
        lines.append(f"namespace {block.name} {{  // {block.about}")
        if block.n > 1:
            lines.append(f"inline constexpr std::uint32_t n = {block.n}, stride = 0x{block.stride:x};")
        lines += [f"inline constexpr std::uint32_t {one.name} = 0x{block.address(one):04x};  ///< {one.about}"
                  for one in block.registers]  # fmt: skip
        lines += [f"}}  // namespace {block.name}", ""]
    for record in card.records:
        lines += [*_comment("///", record.about), f"struct {_camel(record.name)} {{"]
        lines += [f"    {_cpp_field(field)}  ///< {field.about}" for field in record.fields]
        lines += ["};", f"static_assert(sizeof({_camel(record.name)}) == {record.n_bytes});", ""]
    return "\n".join([*lines, "}  // namespace anello::nanet", ""])


def _comment(mark: str, about: str) -> list[str]:
    return textwrap.wrap(about, 120, initial_indent=f"{mark} ", subsequent_indent=f"{mark} ")


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _cpp_field(field: Field) -> str:
    if field.bits in (8, 16, 32, 64):
        return f"std::uint{field.bits}_t {field.name};"
    return f"std::uint32_t {field.name}[{field.bits // 32}];"


# --- Python -------------------------------------------------------------------------------------------------------
MODULE = """# {licence}
# {made}
\"\"\"Registers and records of the card: docs/reference/nanet-io.md.\"\"\"

from dataclasses import dataclass
from typing import Final

import numpy as np


@dataclass(frozen=True)
class Register:
    \"\"\"n: so many of them, stride bytes apart.\"\"\"

    name: str
    address: int
    n: int
    stride: int
    bits: int
    access: str
    about: str

    def at(self, index: int = 0) -> int:
        \"\"\"Raises IndexError.\"\"\"
        if not 0 <= index < self.n:
            raise IndexError(f"{{self.name}} {{index}}: there are {{self.n}}")
        return self.address + index * self.stride


# fmt: off
REGISTERS: Final = (
{registers}
)
# fmt: on
BY_NAME: Final = {{register.name: register for register in REGISTERS}}
"""


def module(card: Card) -> str:
    registers = [
        f'    Register("{block.name}.{one.name}", 0x{block.address(one):04X}, {block.n}, {block.stride}, {one.width}, '
        f'"{ACCESS[one.access]}",\n             {json.dumps(one.about)}),'
        for block in card.blocks for one in block.registers
    ]  # fmt: skip
    lines = [MODULE.format(licence=LICENCE, made=MADE, registers="\n".join(registers)).rstrip("\n")]
    for record in card.records:
        lines += ["", *_comment("#", record.about), f"{record.name.upper()}: Final = np.dtype(", "    ["]
        lines += [f'        ("{field.name}", {_dtype(field)}),  # {field.about}' for field in record.fields]
        lines += ["    ]", ")"]
    return "\n".join(lines) + "\n"


def _dtype(field: Field) -> str:
    if field.bits in (8, 16, 32, 64):
        return f'"<u{field.bits // 8}"'
    return f'"<u4", {field.bits // 32}'


# --- The page -----------------------------------------------------------------------------------------------------
PAGE = """# Registers and records of the card

*{made} The card is simulated and synthesised; it has not run on a board.*

Registers are words of 32 bits on AXI4-Lite, little endian; addresses are bytes. A word without a register, and a write
of less than a word, are answered with `SLVERR` and change nothing. A write takes effect 3 cycles later.

## Registers
{registers}
## Records in memory
{records}"""


def page(card: Card) -> str:
    return PAGE.format(
        made=MADE, registers="\n".join(_block_page(block) for block in card.blocks),
        records="\n".join(_record_page(record) for record in card.records),
    )  # fmt: skip


def _block_page(block: Block) -> str:
    several = f" {block.n} of them, {block.stride} bytes apart." if block.n > 1 else ""
    head = f"### `{block.name}`\n{block.about}{several}\n\n| address | register | bits | | |\n|---|---|---|---|---|\n"
    return head + "".join(
        f"| {block.address(one):#06x} | `{one.name}` | {one.width} | {_access(one)} | {one.about} |\n"
        for one in block.registers
    )


def _access(register: Register) -> str:
    return f"{register.reset:#010x}" if register.access == "constant" else ACCESS[register.access]


def _record_page(record: Layout) -> str:
    head = (
        f"### `{record.name}`, {record.n_bytes} bytes\n{record.about}\n\n| byte | bits | field | |\n|---|---|---|---|\n"
    )
    return head + "".join(
        f"| {field.lowest // 8} | {field.bits} | `{field.name}` | {field.about} |\n" for field in record.fields
    )


def texts(card: Card) -> dict[str, str]:
    """Path in the repository -> contents."""
    return {
        "rtl/registers/nanet_io_pkg.sv": constants(card),
        "rtl/registers/nanet_io_registers.sv": register_file(card),
        "engine/receive/nanet/nanet_io.hpp": header(card),
        "anello/nanet/registers.py": module(card),
        "docs/reference/nanet-io.md": page(card),
    }


def main() -> None:
    for path, text in texts(Card.read(SOURCE.read_text())).items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)


if __name__ == "__main__":
    main()
