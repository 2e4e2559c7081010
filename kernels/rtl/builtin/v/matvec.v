// verilator lint_off WIDTH
// A fixed-point matrix times a vector: y = (A·x) >> shift, 16-bit elements,
// sums of 48 bits of which the low 32 are kept. The vector is taken first.
// tandem: kernel rtl.matvec
// tandem: doc y = (A·x) >> shift in fixed point: 16-bit elements, 48-bit sums, the low 32 bits kept
// tandem: array a r int16 s_axis item=cols
// tandem: array x r int16 s1_axis whole
// tandem: array y w int32 m_axis
// tandem: value cols int32 reg=0 implied
// tandem: value shift uint8 reg=1 default=0
// tandem: limit cols MAXCOLS
// tandem: limit shift 47
// tandem: split
module matvec #(parameter MAXCOLS = 4096) (
  input wire aclk, input wire aresetn,
  input wire [15:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  input wire [15:0] s1_axis_tdata, input wire s1_axis_tvalid, output wire s1_axis_tready, input wire s1_axis_tlast,
  output reg [31:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);
  localparam BITS = $clog2(MAXCOLS);
  reg [31:0] cols;
  reg [5:0] shift;
  always @(posedge aclk)
    if (cfg_we) begin
      if (cfg_addr == 0) cols <= cfg_data;
      else shift <= cfg_data[5:0];
    end
  reg signed [15:0] x [0:MAXCOLS-1];
  reg [31:0] at;
  reg known; // the vector is complete
  wire go = !m_axis_tvalid || m_axis_tready;
  assign s1_axis_tready = aresetn && !known;
  assign s_axis_tready = aresetn && known && go;
  wire put = s1_axis_tvalid && s1_axis_tready;
  always @(posedge aclk) if (put) x[at[BITS-1:0]] <= s1_axis_tdata;

  // Reading, multiplying and adding take a cycle each.
  reg signed [15:0] e1, x1;
  reg signed [31:0] p2;
  reg signed [47:0] sum;
  reg v1, first1, end1, last1, v2, first2, end2, last2, end3, last3;
  wire signed [47:0] out = sum >>> shift;
  always @(posedge aclk)
    if (!aresetn) begin
      at <= 0; known <= 0; v1 <= 0; v2 <= 0; end3 <= 0; m_axis_tvalid <= 0;
    end else if (!known) begin
      if (put) begin
        at <= s1_axis_tlast ? 0 : at + 1;
        known <= s1_axis_tlast;
      end
    end else if (go) begin
      v1 <= s_axis_tvalid;
      if (s_axis_tvalid) begin
        e1 <= s_axis_tdata;
        x1 <= x[at[BITS-1:0]];
        first1 <= at == 0;
        end1 <= at == cols - 1;
        last1 <= s_axis_tlast;
        at <= at == cols - 1 ? 0 : at + 1;
      end
      v2 <= v1;
      p2 <= e1 * x1;
      first2 <= first1; end2 <= end1; last2 <= last1;
      if (v2) sum <= (first2 ? 48'sd0 : sum) + p2;
      end3 <= v2 && end2; last3 <= last2;
      m_axis_tvalid <= end3;
      m_axis_tlast <= last3;
      m_axis_tdata <= out[31:0];
    end
endmodule
