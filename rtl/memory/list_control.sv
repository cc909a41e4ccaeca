// SPDX-License-Identifier: Apache-2.0
//
// list_control: decides on the place of each record, and when a buffer is handed on.
//
// In:  list_* from the register file; p_*: the record whose first beat waits; finish_*: its last beat came; flush: one
//      pulse, all open buffers are handed on.
// Out: c_*: the record's address (of its header, a multiple of 64), or discard; e_*: a buffer to be handed on, with
//      after: the number of records that must be acknowledged before; pulses for counters.
// Latency: 5 cycles from p_valid to c_valid, 5 more when the record opens a new buffer because it did not fit.
// One operation at a time (place, finish, scan), each one read-modify-write of the list's state: IDLE gives the RAM its
// address, READ has its word, SUM adds, JUDGE compares, ACT decides. Between records a scan looks at one open buffer
// every 32 cycles, round-robin, for gathering time and flush, but not at that of a record on its way. So the
// next record of this list makes the same checks before it is placed: a list under full load keeps its gathering time.
// A list's buffers are free when given - returned < n_buffers. A host that reads late in a list with `overwrite` must
// look at the newest completion of the list again after reading: n - 1 or more behind, the buffer is not its own.

module list_control (
    input  logic        clk,
    input  logic        rst,
    input  logic [31:0] now,

    input  logic        list_write,
    input  logic [4:0]  list_index,
    input  logic [2:0]  list_register,
    input  logic [31:0] list_data,
    input  logic        flush,

    input  logic        p_valid,
    input  logic [4:0]  p_stream,
    input  logic [15:0] p_length,
    input  logic [31:0] p_stamp,
    input  logic [31:0] p_parsed,
    input  logic [31:0] p_merged,

    output logic        c_valid,
    input  logic        c_ready,
    output logic        c_discard,
    output logic [47:0] c_address,

    input  logic        finish,
    input  logic        finish_bad,
    input  logic        finish_end_of_burst,

    output logic        e_valid,
    input  logic        e_ready,
    output logic [4:0]  e_list,
    output logic [5:0]  e_buffer,
    output logic [2:0]  e_reason,
    output logic [15:0] e_n_records,
    output logic [15:0] e_n_bad,
    output logic [23:0] e_used_bytes,
    output logic [95:0] e_stamps,
    output logic [15:0] e_after,

    output logic        idle,
    output logic        record_dropped,
    output logic        record_too_long,
    output logic        buffer_overwritten
);

    localparam [2:0] FULL = 3'd1, MAX_RECORDS = 3'd2, GATHERED = 3'd3, END_OF_BURST = 3'd4, FLUSHED = 3'd5;
    localparam [2:0] IDLE = 3'd0, READ = 3'd1, SUM = 3'd2, JUDGE = 3'd3, ACT = 3'd4, GIVE = 3'd5, PUT = 3'd6;
    localparam [1:0] PLACE = 2'd0, FINISH = 2'd1, SCAN = 2'd2;
    localparam LIST_STATE = 48 + 6 + 24 + 16 + 16 + 32 + 32;

    logic [2:0]  state_q;
    logic [1:0]  what_q;
    logic [4:0]  list_q, scan_q;
    logic [4:0]  scan_wait_q;
    logic [31:0] open_q, flush_q;

    // The record between its first and its last beat, and the values for its list at its end.
    logic        flying_q, finish_q, bad_q, end_of_burst_q;
    logic [4:0]  flying_list_q;
    logic [2:0]  flying_reason_q;
    logic [15:0] placed_q;

    wire take_finish = finish_q;
    wire finish_asks = finish_bad || finish_end_of_burst || flying_reason_q != 3'd0;
    wire take_place  = p_valid && !c_valid && (!flying_q || (finish && !finish_asks));
    wire may_scan    = open_q[scan_q] && !(flying_q && scan_q == flying_list_q);
    wire take_scan   = may_scan && scan_wait_q == 5'd0 && !take_place;
    wire [4:0] read_list = take_finish ? flying_list_q : take_place ? p_stream : scan_q;

    wire [47:0] base;
    wire [23:0] buffer_bytes, gathering_cycles;
    wire [6:0]  n_buffers;
    wire [15:0] max_records;
    wire        overwrite;
    wire [31:0] returned, is_on, is_fresh;

    wire [47:0] ram_address;
    wire [5:0]  ram_buffer;
    wire [23:0] ram_used;
    wire [15:0] ram_records, ram_bad;
    wire [31:0] ram_given, ram_since;
    logic [47:0] address_q, next_address_q, start_q;
    logic [5:0]  buffer_q;
    logic [23:0] used_q;
    logic [15:0] records_q, n_bad_q;
    logic [31:0] given_q, since_q;
    logic        keep_q;

    list_table #(.STATE_WIDTH(LIST_STATE)) table_ram (
        .clk(clk), .rst(rst), .list_write(list_write), .list_index(list_index), .list_register(list_register),
        .list_data(list_data), .read_list(state_q == IDLE ? read_list : list_q), .base(base),
        .buffer_bytes(buffer_bytes), .n_buffers(n_buffers), .max_records(max_records),
        .gathering_cycles(gathering_cycles), .overwrite(overwrite), .returned(returned),
        .state({ram_address, ram_buffer, ram_used, ram_records, ram_bad, ram_given, ram_since}),
        .state_write(keep_q), .state_list(list_q),
        .state_next({address_q, buffer_q, used_q, records_q, n_bad_q, given_q, since_q}),
        .is_on(is_on), .is_fresh(is_fresh)
    );

    // Stamps of a buffer's first record, written when it opens and read when it is handed on.
    logic [95:0] stamps_ram [0:31];
    logic [95:0] stamps_q;
    logic        stamps_write_q;
    always @(posedge clk) if (stamps_write_q) stamps_ram[list_q] <= {p_merged, p_parsed, p_stamp};
    always @(posedge clk) stamps_q <= stamps_ram[list_q];

    // SUM
    logic        on_q, is_open_q, room_q, fits_q, too_long_q, at_max_q, exact_q, due_q, wraps_q, flushed_q;
    logic [31:0] out_q, age_q;
    logic [24:0] end_q;
    wire  [16:0] padded = {1'b0, p_length} + 17'd95;
    wire  [16:0] need = {padded[16:6], 6'd0};  // header and payload, up to the next multiple of 64
    logic [16:0] need_q;
    logic [15:0] records_after_q;
    wire         is_open = open_q[list_q];

    wire [2:0]  end_reason = at_max_q ? MAX_RECORDS : exact_q ? FULL : gathering_cycles == 24'd0 ? GATHERED : 3'd0;
    wire [2:0]  finish_reason = end_of_burst_q ? END_OF_BURST : flying_reason_q;
    logic [2:0] reason_q;

    assign e_list       = list_q;
    assign e_buffer     = buffer_q;
    assign e_reason     = reason_q;
    assign e_n_records  = records_q;
    assign e_n_bad      = n_bad_q;
    assign e_used_bytes = used_q;
    assign e_stamps     = stamps_q;
    assign e_after      = placed_q;
    assign e_valid      = state_q == GIVE;
    assign idle         = state_q == IDLE && !flying_q && !p_valid && !c_valid;

    always @(posedge clk) begin
        keep_q             <= 1'b0;
        stamps_write_q     <= 1'b0;
        record_dropped     <= 1'b0;
        record_too_long    <= 1'b0;
        buffer_overwritten <= 1'b0;
        if (c_ready) c_valid <= 1'b0;
        if (finish) begin
            finish_q       <= finish_asks;
            flying_q       <= finish_asks;
            bad_q          <= finish_bad;
            end_of_burst_q <= finish_end_of_burst;
        end
        if (scan_wait_q != 5'd0) scan_wait_q <= scan_wait_q - 5'd1;

        case (state_q)
            IDLE: if (!keep_q) begin
                list_q <= read_list;
                what_q <= take_finish ? FINISH : take_place ? PLACE : SCAN;
                if (take_finish || take_place || take_scan) state_q <= READ;
                if (take_scan && !take_finish) scan_wait_q <= 5'd31;
                if ((take_scan && !take_finish) || !may_scan) scan_q <= scan_q == 5'd16 ? 5'd0 : scan_q + 5'd1;
            end
            READ: begin
                on_q      <= is_on[list_q];
                is_open_q <= is_open;
                buffer_q  <= is_fresh[list_q] ? 6'd0 : ram_buffer;
                address_q <= is_fresh[list_q] ? base : ram_address;
                given_q   <= is_fresh[list_q] ? 32'd0 : ram_given;
                used_q    <= is_open ? ram_used : 24'd0;
                records_q <= is_open ? ram_records : 16'd0;
                n_bad_q   <= is_open ? ram_bad : 16'd0;
                since_q   <= ram_since;
                need_q    <= need;
                state_q   <= SUM;
            end
            SUM: begin
                out_q           <= given_q - returned;
                end_q           <= {1'b0, used_q} + {8'd0, need_q};
                start_q         <= address_q + {24'd0, used_q};
                next_address_q  <= address_q + {24'd0, buffer_bytes};
                wraps_q         <= {1'b0, buffer_q} + 7'd1 == n_buffers;
                records_after_q <= records_q + 16'd1;
                age_q           <= now - since_q;
                state_q         <= JUDGE;
            end
            JUDGE: begin
                room_q     <= out_q[31] || out_q < {25'd0, n_buffers};
                fits_q     <= end_q <= {1'b0, buffer_bytes};
                exact_q    <= end_q == {1'b0, buffer_bytes};
                too_long_q <= {7'd0, need_q} > buffer_bytes;
                at_max_q   <= records_after_q == max_records || records_after_q == 16'hffff;
                due_q      <= age_q >= {8'd0, gathering_cycles};
                flushed_q  <= flush ? is_open : flush_q[list_q];  // as flush_q will be
                state_q    <= ACT;
            end
            ACT: begin
                state_q <= IDLE;
                case (what_q)
                    PLACE: begin
                        flying_q        <= 1'b1;
                        flying_list_q   <= list_q;
                        flying_reason_q <= 3'd0;
                        c_valid         <= 1'b1;
                        c_discard       <= 1'b1;
                        c_address       <= start_q;
                        if (!on_q || too_long_q) begin
                            record_dropped  <= !on_q;
                            record_too_long <= on_q;
                        end else if (is_open_q && (!fits_q || due_q || flushed_q)) begin
                            c_valid  <= 1'b0;
                            flying_q <= 1'b0;
                            reason_q <= !fits_q ? FULL : due_q ? GATHERED : FLUSHED;
                            state_q  <= GIVE;
                        end else if (!is_open_q && !room_q && !overwrite) record_dropped <= 1'b1;
                        else begin
                            c_discard          <= 1'b0;
                            placed_q           <= placed_q + 16'd1;
                            flying_reason_q    <= end_reason;
                            open_q[list_q]     <= 1'b1;
                            buffer_overwritten <= !is_open_q && !room_q;
                            stamps_write_q     <= !is_open_q;
                            if (!is_open_q) since_q <= now;
                            if (!is_open_q) flush_q[list_q] <= 1'b0;
                            used_q             <= end_q[23:0];
                            records_q          <= records_after_q;
                            keep_q             <= 1'b1;
                        end
                    end
                    FINISH: begin
                        if (is_open_q && bad_q) begin
                            n_bad_q <= n_bad_q + 16'd1;
                            keep_q  <= 1'b1;
                        end
                        reason_q <= finish_reason;
                        finish_q <= 1'b0;
                        flying_q <= 1'b0;
                        if (is_open_q && finish_reason != 3'd0) state_q <= GIVE;
                    end
                    default: begin
                        reason_q <= flushed_q ? FLUSHED : GATHERED;
                        if (is_open_q && (due_q || flushed_q)) state_q <= GIVE;
                    end
                endcase
            end
            GIVE: if (e_ready) begin
                state_q         <= PUT;
                open_q[list_q]  <= 1'b0;
                flush_q[list_q] <= 1'b0;
            end
            default: begin
                address_q <= wraps_q ? base : next_address_q;
                buffer_q  <= wraps_q ? 6'd0 : buffer_q + 6'd1;
                given_q   <= given_q + 32'd1;
                keep_q    <= 1'b1;
                state_q   <= IDLE;
            end
        endcase

        if (flush) flush_q <= open_q;
        if (list_write && list_register == 3'd3) open_q[list_index] <= 1'b0;
        if (rst) begin
            state_q     <= IDLE;
            c_valid     <= 1'b0;
            open_q      <= 32'd0;
            flush_q     <= 32'd0;
            flying_q    <= 1'b0;
            finish_q    <= 1'b0;
            keep_q      <= 1'b0;
            placed_q    <= 16'd0;
            scan_q      <= 5'd0;
            scan_wait_q <= 5'd0;
            flying_reason_q <= 3'd0;
        end
    end
endmodule
