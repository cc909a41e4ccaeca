// SPDX-License-Identifier: Apache-2.0
//
// list_table, of one list, as the proof of list_control sees it: settings are constants, credits are free, and the
// list's state is kept in a register.
//
// In, out, latency: as rtl/memory/list_table.sv, in whose place it stands, but list_data: all the time the settings base
// ([15:0]) and bytes of a buffer ([23:16]), both in units of 64, and the number of buffers less 1 ([25:24]).
// Asserted of each state that is kept: its buffer is one of the list's, its address that buffer's, and no more of it is
// used than it has.

module list_table #(
    parameter STATE_WIDTH = 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   list_write,
    input  logic [4:0]             list_index,
    input  logic [2:0]             list_register,
    input  logic [31:0]            list_data,
    input  logic [4:0]             read_list,
    output logic [47:0]            base,
    output logic [23:0]            buffer_bytes,
    output logic [6:0]             n_buffers,
    output logic [15:0]            max_records,
    output logic [23:0]            gathering_cycles,
    output logic                   overwrite,
    output logic [31:0]            returned,
    output logic [STATE_WIDTH-1:0] state,
    input  logic                   state_write,
    input  logic [4:0]             state_list,
    input  logic [STATE_WIDTH-1:0] state_next,
    output logic [31:0]            is_on,
    output logic [31:0]            is_fresh
);

    (* anyconst *) logic [15:0] any_max;
    (* anyconst *) logic [23:0] any_gathering;
    (* anyconst *) logic        any_overwrite;
    (* anyseq *)   logic [31:0] any_returned;
    assign base             = {26'd0, list_data[15:0], 6'd0};
    assign buffer_bytes     = {10'd0, list_data[23:16], 6'd0};
    assign n_buffers        = {5'd0, list_data[25:24]} + 7'd1;
    assign max_records      = any_max;
    assign gathering_cycles = any_gathering;
    assign overwrite        = any_overwrite;
    assign is_on            = 32'd1;
    always @(posedge clk) returned <= any_returned;

    logic [STATE_WIDTH-1:0] state_q;
    logic                   fresh_q;
    assign is_fresh = {31'd0, fresh_q};
    always @(posedge clk) begin
        state <= state_q;
        if (state_write) state_q <= state_next;
        if (rst) fresh_q <= 1'b1;
        else if (state_write) fresh_q <= 1'b0;
    end

    function is_sound(input [STATE_WIDTH-1:0] of);
        reg [47:0] address;
        reg [5:0]  buffer;
        reg [23:0] used;
        begin
            address = of[STATE_WIDTH-1 -: 48];
            buffer  = of[STATE_WIDTH-49 -: 6];
            used    = of[STATE_WIDTH-55 -: 24];
            is_sound = {1'b0, buffer} < n_buffers && used <= buffer_bytes && used[5:0] == 6'd0 &&
                       address == base + (buffer[0] ? {24'd0, buffer_bytes} : 48'd0) +
                                  (buffer[1] ? {23'd0, buffer_bytes, 1'b0} : 48'd0);
        end
    endfunction
    always @(posedge clk) if (!rst && state_write) assert (is_sound(state_next));
    // The same assertion about the kept state, with which a step of the induction begins.
    always @(*) if (!rst && !fresh_q) assert (is_sound(state_q));
    logic was_kept_q;
    always @(posedge clk) was_kept_q <= !rst && !fresh_q;
    always @(posedge clk) if (!rst && !fresh_q && was_kept_q) assert (is_sound(state));
endmodule
