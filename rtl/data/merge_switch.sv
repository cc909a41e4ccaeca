// SPDX-License-Identifier: Apache-2.0
// Sends payloads to the memory path unchanged, or to the merger, whose records go to the memory path, too.
// in:      merge: a register that may change at any time; p_*: payloads of the receive path; r_*: records of merged
//          events (only valid, ready and last: the other signals do not pass this module)
// out:     merge_valid: the payload's word goes to the merger; s_*: input of the memory path; is_merged: that is a
//          record's
// latency: none; 1 cycle when a record follows a payload, or a payload a record, if the second did not wait yet. The
//          value of merge when a payload's first word is first offered decides for all its words.
//          Records and payloads alternate if both wait; neither is interrupted before its end.
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

    // A register says whose turn it is, as the modules that wait for ready are far away on the card.
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
