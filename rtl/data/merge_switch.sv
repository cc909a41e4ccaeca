// SPDX-License-Identifier: Apache-2.0
// Which way payloads go: to the memory path as they are, or to the merger, whose records join them.
// in:      merge: a register that may change at any time; p_*: payloads of the receive path; r_*: records of merged
//          events (valid, ready and last only: all else goes past this module)
// out:     merge_valid: the payload's word is the merger's; s_*: what the memory path takes; is_merged: that is a
//          record's
// latency: none; 1 cycle where a record follows a payload, or a payload a record, that had nobody waiting behind it. A
//          payload's way is that which merge says when its first word is first offered; its other words follow it.
//          Records and payloads alternate where both wait; none is left before its end.
`default_nettype none
module merge_switch (
    input  wire clk,
    input  wire rst,
    input  wire merge,
    input  wire p_valid,
    output wire p_ready,
    input  wire p_last,
    output wire merge_valid,
    input  wire merge_ready,
    input  wire r_valid,
    output wire r_ready,
    input  wire r_last,
    output wire s_valid,
    input  wire s_ready,
    output wire is_merged
);
    reg  in_payload_q, way_q;
    wire way = in_payload_q ? way_q : merge;
    wire direct_valid = p_valid && !way;
    assign merge_valid = p_valid && way;

    // Whose turn it is stands in a register: whoever waits for ready behind it is far away.
    reg  is_merged_q, inside_q;
    assign is_merged = is_merged_q;
    assign s_valid = is_merged_q ? r_valid : direct_valid;
    assign r_ready = is_merged_q && s_ready;
    assign p_ready = way ? merge_ready : !is_merged_q && s_ready;
    wire last = is_merged_q ? r_last : p_last;
    wire stays = s_valid ? !(s_ready && last) : inside_q;
    wire other_waits = is_merged_q ? direct_valid : r_valid;

    always @(posedge clk) begin
        in_payload_q <= p_valid ? !(p_ready && p_last) : in_payload_q;
        way_q        <= way;
        inside_q     <= stays;
        if (!stays && other_waits) is_merged_q <= !is_merged_q;
        if (rst) begin
            in_payload_q <= 1'b0;
            inside_q     <= 1'b0;
            is_merged_q  <= 1'b0;
        end
    end
endmodule
`default_nettype wire
