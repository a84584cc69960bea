// Matrices in one array, also with rows of int8, and their product.
export class Matrix {
  constructor(rows, cols, data = new Float32Array(rows * cols)) {
    Object.assign(this, {rows, cols, data});
  }
  row(i) { return this.data.subarray(i * this.cols, (i + 1) * this.cols); }
  map(f) { return new Matrix(this.rows, this.cols, this.data.map(f)); }
}

export class Int8Matrix { // row i is scale[i] times integers from -127 to 127
  constructor(rows, cols, integers, scale) { Object.assign(this, {rows, cols, integers, scale}); }
  row(i) { // float32 numbers, as PyTorch's loader multiplies them
    const {integers, scale, cols} = this;
    return Float32Array.from(integers.subarray(i * cols, (i + 1) * cols), q => q * scale[i]);
  }
  float() { return each_row(this, x => x); }
  get data() { return this.float().data; }
  map(f) { return this.float().map(f); }
}

export function each_row(a, f) { // f maps a row to a row
  const out = new Matrix(a.rows, a.cols);
  for (let i = 0; i < a.rows; i++) out.data.set(f(a.row(i)), i * a.cols);
  return out;
}

// The products of row i of x with rows j to j + 3 of w. The two functions are the same: each sees
// one type of array only, which makes it several times faster.
function four_float(x, i, w, j, cols, out, at) {
  let a = j * cols, b = a + cols, c = b + cols, d = c + cols, p = 0, q = 0, r = 0, s = 0;
  for (let k = i * cols, end = k + cols; k < end; k++) {
    const v = x[k];
    p += v * w[a++];
    q += v * w[b++];
    r += v * w[c++];
    s += v * w[d++];
  }
  out[at] = p;
  out[at + 1] = q;
  out[at + 2] = r;
  out[at + 3] = s;
}
function four_int8(x, i, w, j, cols, out, at, scale) {
  let a = j * cols, b = a + cols, c = b + cols, d = c + cols, p = 0, q = 0, r = 0, s = 0;
  for (let k = i * cols, end = k + cols; k < end; k++) {
    const v = x[k];
    p += v * w[a++];
    q += v * w[b++];
    r += v * w[c++];
    s += v * w[d++];
  }
  out[at] = p * scale[j];
  out[at + 1] = q * scale[j + 1];
  out[at + 2] = r * scale[j + 2];
  out[at + 3] = s * scale[j + 3];
}

export function matmul_t(a, b) { // a bᵀ: (T, K) and (S, K) to (T, S)
  const out = new Matrix(a.rows, b.rows), {cols} = a, whole = b.rows - b.rows % 4;
  const int8 = b instanceof Int8Matrix, four = int8 ? four_int8 : four_float;
  const numbers = int8 ? b.integers : b.data;
  for (let j = 0; j < whole; j += 4)
    for (let i = 0; i < a.rows; i++)
      four(a.data, i, numbers, j, cols, out.data, i * b.rows + j, b.scale);
  for (let j = whole; j < b.rows; j++) {
    const y = b.row(j);
    for (let i = 0; i < a.rows; i++) {
      const x = a.row(i);
      let sum = 0;
      for (let k = 0; k < cols; k++) sum += x[k] * y[k];
      out.data[i * b.rows + j] = sum;
    }
  }
  return out;
}
