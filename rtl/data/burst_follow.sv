// SPDX-License-Identifier: Apache-2.0
// Turns the packets of all boards into items of their stores; follows each board's bursts as receive::BurstFollower.
// in:      p_*: packets of mgp_parser.sv, which are not valid before their END
// out:     item_*: FRAGMENT {n_hits, fine, timestamp}, PACKET {stamp, burst} in front of a packet's fragments, END {stamp,
//          burst} when the board has left a burst: its end marker (once), or a packet or marker of a new burst
//          hits_*: their words; commit or rollback of all since the last commit; one-hot by board
// latency: FRAGMENT 0 cycles; a packet takes 3 to 5 cycles in addition to its fragments
// If a store has no room, the whole packet is dropped (dropped), or with drop_when_full = 0 the input stalls (stalled)
// unless this packet alone fills the store. A burst is new unless it is the board's current one or among the last 16.
`default_nettype none
module burst_follow #(
    parameter BOARDS = 4
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              drop_when_full,
    input  wire              p_valid,
    output wire              p_ready,
    input  wire [1:0]        p_kind,
    input  wire [2:0]        p_board,
    input  wire [31:0]       p_burst,
    input  wire [31:0]       p_stamp,
    input  wire [1:0]        p_marker,
    input  wire              p_good,
    input  wire              p_first,
    input  wire [31:0]       p_timestamp,
    input  wire [7:0]        p_fine,
    input  wire [7:0]        p_n_hits,
    input  wire              p_has_hits,
    input  wire [63:0]       p_hits,
    input  wire [BOARDS-1:0] has_room,   // for 4 more items and 4 more words
    input  wire [BOARDS-1:0] only_this,  // nothing that is committed waits in the store
    output wire [BOARDS-1:0] item_we,
    output wire [65:0]       item,
    output wire [BOARDS-1:0] hits_we,
    output wire [63:0]       hits,
    output wire [BOARDS-1:0] commit,
    output wire [BOARDS-1:0] rollback,
    output wire              dropped,
    output wire              stalled
);
    localparam [1:0] START = 0, END_OF_PACKET = 2;
    localparam [1:0] FRAGMENT = 0, PACKET = 1, END = 2;
    localparam [2:0] IDLE = 0, JUDGE = 1, LEAVE = 2, ENTER = 3, PASS = 4;

    reg [2:0]           state_q;
    reg [BOARDS-1:0]    one_hot_q;
    reg [31:0]          burst_q, stamp_q, current_q, ended_q;
    reg [1:0]           marker_q;
    reg                 has_current_q, has_ended_q, is_new_q, leaves_q, tells_end_q, full_q;
    reg [32*BOARDS-1:0] of_current_q, of_ended_q;
    reg [BOARDS-1:0]    of_has_current_q, of_has_ended_q;

    // has_room is two cycles old here: at least two cycles lie between a commit and the first write of the next packet,
    // and has_room leaves more room than the writes of two cycles need.
    reg  room_q, alone_q;
    always @(posedge clk) room_q <= (has_room & one_hot_q) != {BOARDS{1'b0}};
    always @(posedge clk) alone_q <= (only_this & one_hot_q) != {BOARDS{1'b0}};
    wire writes = state_q == LEAVE ? leaves_q : state_q == ENTER ? (marker_q == 2'd0 || tells_end_q) :
                  state_q == PASS && p_valid && p_kind == 2'd1;
    wire gives_up = !room_q && writes && !full_q && (drop_when_full || alone_q);
    wire holds = !room_q && writes && !full_q && !gives_up;
    wire goes = writes && room_q && !full_q;
    assign stalled = holds;
    wire ends = state_q == PASS && p_valid && p_kind == END_OF_PACKET;
    // The answer to every fragment comes from a register, as all of hit_unpack.sv waits for it.
    wire no_place = !room_q && !full_q && !drop_when_full && !alone_q;
    assign p_ready = state_q == IDLE || (state_q == PASS && !(no_place && p_kind == 2'd1));

    wire [31:0] step = burst_q - current_q;
    wire is_new = !has_current_q || (!step[31] && step != 32'd0) || (step[31] && step < 32'hfffffff0);

    always @(posedge clk) begin : follow
        integer i;
        case (state_q)
            IDLE: if (p_valid && p_kind == START) begin
                for (i = 0; i < BOARDS; i = i + 1) one_hot_q[i] <= p_board == i[2:0];
                for (i = 0; i < BOARDS; i = i + 1)
                    if (p_board == i[2:0]) begin
                        current_q     <= of_current_q[32*i +: 32];
                        ended_q       <= of_ended_q[32*i +: 32];
                        has_current_q <= of_has_current_q[i];
                        has_ended_q   <= of_has_ended_q[i];
                    end
                burst_q  <= p_burst;
                stamp_q  <= p_stamp;
                marker_q <= p_marker;
                full_q   <= 1'b0;
                state_q  <= JUDGE;
            end
            JUDGE: begin
                is_new_q    <= is_new;
                leaves_q    <= is_new && has_current_q && !(has_ended_q && ended_q == current_q);
                tells_end_q <= marker_q[1] && !(has_ended_q && ended_q == burst_q);
                state_q     <= LEAVE;
            end
            LEAVE: if (!holds) state_q <= ENTER;
            ENTER: if (!holds) state_q <= PASS;
            default: if (ends) state_q <= IDLE;
        endcase
        if (gives_up) full_q <= 1'b1;
        if (ends && p_good && !full_q)
            for (i = 0; i < BOARDS; i = i + 1)
                if (one_hot_q[i]) begin
                    if (is_new_q) of_current_q[32*i +: 32] <= burst_q;
                    of_has_current_q[i] <= 1'b1;
                    if (tells_end_q || leaves_q) begin
                        of_ended_q[32*i +: 32] <= tells_end_q ? burst_q : current_q;
                        of_has_ended_q[i]      <= 1'b1;
                    end
                end
        if (rst) begin
            state_q          <= IDLE;
            of_has_current_q <= {BOARDS{1'b0}};
            of_has_ended_q   <= {BOARDS{1'b0}};
        end
    end

    wire [1:0] kind = state_q == PASS ? FRAGMENT : (state_q == LEAVE || marker_q != 2'd0) ? END : PACKET;
    assign item = state_q == PASS ? {FRAGMENT, 16'd0, p_n_hits, p_fine, p_timestamp} :
                  {kind, stamp_q, state_q == LEAVE ? current_q : burst_q};
    assign item_we = (goes && (state_q != PASS || p_first)) ? one_hot_q : {BOARDS{1'b0}};
    assign hits_we = (goes && state_q == PASS && p_has_hits) ? one_hot_q : {BOARDS{1'b0}};
    assign hits = p_hits;
    assign commit = (ends && p_good && !full_q) ? one_hot_q : {BOARDS{1'b0}};
    assign rollback = (ends && !(p_good && !full_q)) ? one_hot_q : {BOARDS{1'b0}};
    assign dropped = ends && p_good && full_q;
endmodule
`default_nettype wire
