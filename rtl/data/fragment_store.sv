// SPDX-License-Identifier: Apache-2.0
// Stores one board's items and hits between parser and merger. Written items become readable with commit, or never.
// in:      item_we, item; hits_we, hits; commit or rollback of all written since the last one (in a cycle without writes)
//          read_address: word of hits to be read; free_address: words before it are no longer needed
// out:     next_*: items in the order of writing, shown until next_pop; read_data: 3 cycles after read_address
//          has_room: for 4 more of each; only_this: no committed item is left inside, a cycle later; is_crowded: over
//          3/4 full
//          newest_burst: of the last PACKET or END committed
// latency: 3 cycles from commit to next_valid, then an item a cycle
// memory:  2^ITEM_BITS items of 66 bits, 2^HITS_BITS words of 64 bits; both with registered outputs
`default_nettype none
module fragment_store #(
    parameter ITEM_BITS = 10,
    parameter HITS_BITS = 11
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 item_we,
    input  wire [65:0]          item,
    input  wire                 hits_we,
    input  wire [63:0]          hits,
    input  wire                 commit,
    input  wire                 rollback,
    output wire                 has_room,
    output wire                 only_this,
    output wire                 is_crowded,
    output wire [31:0]          newest_burst,
    output wire                 next_valid,
    output wire [65:0]          next_item,
    input  wire                 next_pop,
    input  wire [HITS_BITS-1:0] read_address,
    output wire [63:0]          read_data,
    input  wire [HITS_BITS-1:0] free_address
);
    // Pointers have one bit more than addresses, so that full and empty differ; hits are kept one word short instead.
    reg [ITEM_BITS:0]   item_in_q, item_safe_q, item_out_q;
    reg [HITS_BITS-1:0] hits_in_q, hits_safe_q;
    reg [ITEM_BITS:0]   n_items_q;
    reg [HITS_BITS-1:0] n_words_q;
    reg                 has_room_q, crowded_q, only_this_q;
    reg [31:0]          burst_q, newest_q;

    // ---- items
    reg [65:0] item_ram[0:(1 << ITEM_BITS) - 1];
    reg [65:0] item_ram_q, item_q;
    reg        ram_valid_q, item_valid_q;
    wire       moves = !item_valid_q || next_pop;
    wire       reads = !ram_valid_q || moves;
    wire       is_there = item_out_q != item_safe_q;
    always @(posedge clk) begin
        if (item_we) item_ram[item_in_q[ITEM_BITS-1:0]] <= item;
        if (reads) item_ram_q <= item_ram[item_out_q[ITEM_BITS-1:0]];
    end
    always @(posedge clk) begin
        if (reads) begin
            ram_valid_q <= is_there;
            if (is_there) item_out_q <= item_out_q + 1'b1;
        end
        if (moves) begin
            item_valid_q <= ram_valid_q;
            item_q       <= item_ram_q;
        end
        if (rst) begin
            ram_valid_q  <= 1'b0;
            item_valid_q <= 1'b0;
            item_out_q   <= {(ITEM_BITS + 1){1'b0}};
        end
    end

    // ---- hits
    reg [63:0]          hits_ram[0:(1 << HITS_BITS) - 1];
    reg [63:0]          hits_ram_q, read_q;
    reg [HITS_BITS-1:0] read_address_q;
    always @(posedge clk) begin
        if (hits_we) hits_ram[hits_in_q] <= hits;
        read_address_q <= read_address;
        hits_ram_q     <= hits_ram[read_address_q];
        read_q         <= hits_ram_q;
    end

    // ---- what is in doubt
    always @(posedge clk) begin
        if (item_we) item_in_q <= item_in_q + 1'b1;
        if (hits_we) hits_in_q <= hits_in_q + 1'b1;
        if (item_we && item[65:64] != 2'd0) burst_q <= item[31:0];
        if (commit) begin
            item_safe_q <= item_in_q;
            hits_safe_q <= hits_in_q;
            newest_q    <= burst_q;
        end
        if (rollback) begin
            item_in_q <= item_safe_q;
            hits_in_q <= hits_safe_q;
            burst_q   <= newest_q;
        end
        // A cycle old, hence the room for more than the one that may come.
        n_items_q  <= item_in_q - item_out_q;
        n_words_q  <= hits_in_q - free_address;
        has_room_q <= n_items_q < (1 << ITEM_BITS) - 8 && n_words_q < (1 << HITS_BITS) - 8;
        only_this_q <= !is_there && !ram_valid_q && !item_valid_q && free_address == hits_safe_q;
        crowded_q  <= n_items_q > 3 * (1 << ITEM_BITS) / 4 || n_words_q > 3 * (1 << HITS_BITS) / 4;
        if (rst) begin
            item_in_q   <= {(ITEM_BITS + 1){1'b0}};
            item_safe_q <= {(ITEM_BITS + 1){1'b0}};
            hits_in_q   <= {HITS_BITS{1'b0}};
            hits_safe_q <= {HITS_BITS{1'b0}};
            newest_q    <= 32'd0;
            burst_q     <= 32'd0;
        end
    end
    assign has_room = has_room_q;
    assign is_crowded = crowded_q;
    assign only_this = only_this_q;
    assign newest_burst = newest_q;
    assign next_valid = item_valid_q;
    assign next_item = item_q;
    assign read_data = read_q;
endmodule
`default_nettype wire
