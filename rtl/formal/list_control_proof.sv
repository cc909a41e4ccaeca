// SPDX-License-Identifier: Apache-2.0
//
// list_control_proof: a record is placed inside one buffer of its list, with header, payload and the filling of its
// last 64 bytes, after any earlier records.
//
// In:  records of any length, credits, flushes and stalls, all free; settings are any that the host may give, of a list
//      of up to 4 buffers (list_table_one.sv). Out: assertions for a proof. Latency: none.

module list_control_proof (
    input logic        clk,
    input logic        flush,
    input logic        p_valid,
    input logic [15:0] p_length,
    input logic        c_ready,
    input logic        finish,
    input logic        finish_bad,
    input logic        finish_end_of_burst,
    input logic [31:0] now
);

    logic started_q = 1'b0;
    wire  rst = !started_q;
    always @(posedge clk) started_q <= 1'b1;

    (* anyconst *) logic [25:0] settings;  // see list_table_one
    always @(*) assume (settings[23:16] != 8'd0);
    wire         c_valid, c_discard, e_valid, idle;
    wire  [47:0] c_address;
    wire  [4:0]  e_list;
    wire  [5:0]  e_buffer;
    wire  [2:0]  e_reason;
    wire  [15:0] e_n_records, e_n_bad, e_after;
    wire  [23:0] e_used_bytes;
    wire  [95:0] e_stamps;
    wire         record_dropped, record_too_long, buffer_overwritten;
    list_control control (
        .clk(clk), .rst(rst), .now(now), .list_write(1'b0), .list_index(5'd0), .list_register(3'd0),
        .list_data({6'd0, settings}),
        .flush(flush), .p_valid(p_valid), .p_stream(5'd0), .p_length(p_length), .p_stamp(32'd0), .p_parsed(32'd0),
        .p_merged(32'd0), .c_valid(c_valid), .c_ready(c_ready), .c_discard(c_discard), .c_address(c_address),
        .finish(finish), .finish_bad(finish_bad), .finish_end_of_burst(finish_end_of_burst), .e_valid(e_valid),
        .e_ready(1'b1), .e_list(e_list), .e_buffer(e_buffer), .e_reason(e_reason), .e_n_records(e_n_records),
        .e_n_bad(e_n_bad), .e_used_bytes(e_used_bytes), .e_stamps(e_stamps), .e_after(e_after), .idle(idle),
        .record_dropped(record_dropped), .record_too_long(record_too_long), .buffer_overwritten(buffer_overwritten)
    );

    // A record waits, unchanged, until it has its place, and ends only after it began.
    logic        waits_q, flies_q;
    logic [15:0] length_q;
    always @(posedge clk) begin
        waits_q  <= !rst && p_valid && !(c_valid && c_ready);
        length_q <= p_length;
        flies_q  <= !rst && ((c_valid && c_ready) || (flies_q && !finish));
    end
    always @(*) begin
        if (waits_q) assume (p_valid && p_length == length_q);
        if (c_ready) assume (c_valid);
        if (finish) assume (flies_q);
        if (flies_q) assume (!p_valid);
    end

    wire [47:0] base  = {26'd0, settings[15:0], 6'd0};
    wire [47:0] bytes = {34'd0, settings[23:16], 6'd0};
    wire [47:0] need  = {31'd0, ({1'b0, p_length} + 17'd95) >> 6, 6'd0};
    wire [47:0] first = c_address - base, beyond = first + need;
    wire [47:0] twice = {bytes[46:0], 1'b0};
    wire        inside = (beyond <= bytes) || (first >= bytes && beyond <= twice) ||
                         (first >= twice && beyond <= twice + bytes) ||
                         (first >= twice + bytes && beyond <= {bytes[45:0], 2'd0});
    wire [47:0] of_all = settings[25:24] == 2'd0 ? bytes : settings[25:24] == 2'd1 ? twice :
                         settings[25:24] == 2'd2 ? twice + bytes : {bytes[45:0], 2'd0};
    always @(posedge clk) begin
        if (!rst && c_valid && !c_discard) assert (c_address >= base && inside && beyond <= of_all);
        if (!rst) cover (c_valid && !c_discard && c_address == base + bytes && settings[25:24] == 2'd1);
    end
endmodule
