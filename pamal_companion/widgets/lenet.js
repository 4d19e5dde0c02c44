// A small network of convolutions and linear layers, at any point between its members.

/** @param {string} text base64 @returns {Uint8Array} */
function bytes(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** theta(alpha) = alpha^T Theta. @param {Float32Array} stacked [M * N] @param {number[]} alpha [M]
 * @returns {Float32Array} [N] */
function mixed(stacked, alpha) {
  const size = stacked.length / alpha.length;
  const theta = new Float32Array(size);
  alpha.forEach((share, k) => {
    for (let i = 0; i < size; i += 1) theta[i] += share * stacked[k * size + i];
  });
  return theta;
}

/** A convolution without padding, stride 1. @param {{ data: Float32Array, shape: number[] }} input
 * [channels, height, width] @param {{ shape: number[], weight: number, bias: number }} layer shape
 * [out, in, k, k]; where its weights begin in `theta` */
function convolve(theta, { shape: [out, channels, k], weight, bias }, { data, shape }) {
  const [, height, width] = shape;
  const [h2, w2] = [height - k + 1, width - k + 1];
  const result = new Float32Array(out * h2 * w2);
  for (let o = 0; o < out; o += 1) {
    const map = result.subarray(o * h2 * w2, (o + 1) * h2 * w2).fill(theta[bias + o]);
    for (let c = 0; c < channels; c += 1) {
      for (let tap = 0; tap < k * k; tap += 1) {
        const w = theta[weight + (o * channels + c) * k * k + tap];
        const start = (c * height + Math.floor(tap / k)) * width + (tap % k);
        for (let y = 0; y < h2; y += 1) {
          const from = start + y * width;
          for (let x = 0; x < w2; x += 1) map[y * w2 + x] += w * data[from + x];
        }
      }
    }
  }
  return { data: result, shape: [out, h2, w2] };
}

/** The largest of each square of `size` x `size`; what is left over at the edges is dropped. */
function pool(size, { data, shape: [channels, height, width] }) {
  const [h2, w2] = [Math.floor(height / size), Math.floor(width / size)];
  const result = new Float32Array(channels * h2 * w2).fill(-Infinity);
  for (let c = 0; c < channels; c += 1) {
    for (let y = 0; y < h2 * size; y += 1) {
      for (let x = 0; x < w2 * size; x += 1) {
        const to = (c * h2 + Math.floor(y / size)) * w2 + Math.floor(x / size);
        const value = data[(c * height + y) * width + x];
        if (value > result[to]) result[to] = value;
      }
    }
  }
  return { data: result, shape: [channels, h2, w2] };
}

/** @param {{ shape: number[], weight: number, bias: number }} layer shape [out, in] */
function affine(theta, { shape: [out, size], weight, bias }, { data }) {
  const result = new Float32Array(out);
  for (let o = 0; o < out; o += 1) {
    let sum = theta[bias + o];
    for (let i = 0; i < size; i += 1) sum += theta[weight + o * size + i] * data[i];
    result[o] = sum;
  }
  return { data: result, shape: [out] };
}

const LAYERS = {
  conv: convolve,
  pool: (_theta, { size }, input) => pool(size, input),
  relu: (_theta, _layer, { data, shape }) => ({ data: data.map((v) => Math.max(v, 0)), shape }),
  linear: affine,
};

/** What `layers` make of `input`, with the weights `theta`. */
function through(layers, theta, input) {
  return layers.reduce((value, layer) => LAYERS[layer.kind](theta, layer, value), input);
}

/** The logits of every task: number[T][classes]. @param {{ encoder: Object[], heads: Object[][] }}
 * network its layers @param {Float32Array} theta [N] @param {Float32Array} image [side * side] */
function logits({ encoder, heads }, theta, image) {
  const side = Math.sqrt(image.length);
  const features = through(encoder, theta, { data: image, shape: [1, side, side] });
  return heads.map((head) => Array.from(through(head, theta, features).data));
}

/** @param {number[]} values @returns {number[]} shares that sum to 1 */
function softmax(values) {
  const top = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - top));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

/** The weights with which bicubic resizing with smoothing, that of Pillow and torch, takes `from`
 * pixels to `to` fewer ones: number[to][from]. */
function bicubic(from, to) {
  const scale = from / to;
  const cubic = (distance) => {
    const x = Math.abs(distance);
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
  };
  return Array.from({ length: to }, (_, i) => {
    const row = Array.from({ length: from }, (_, j) =>
      cubic((j + 0.5 - (i + 0.5) * scale) / scale));
    const sum = row.reduce((a, b) => a + b);
    return row.map((weight) => weight / sum);
  });
}

/** A square image, resized. @param {ArrayLike<number>} image [from * from]
 * @returns {Float32Array} [to * to] */
function resized(image, to) {
  const from = Math.sqrt(image.length);
  const weights = bicubic(from, to);
  const wide = new Float32Array(from * to);
  const result = new Float32Array(to * to);
  for (let y = 0; y < from; y += 1) {
    for (let i = 0; i < to; i += 1) {
      for (let x = 0; x < from; x += 1) wide[y * to + i] += weights[i][x] * image[y * from + x];
    }
  }
  for (let i = 0; i < to; i += 1) {
    for (let y = 0; y < from; y += 1) {
      for (let x = 0; x < to; x += 1) result[i * to + x] += weights[i][y] * wide[y * to + x];
    }
  }
  return result;
}

/** A network in the page: `predict(alpha, image)` is, for each task, the shares of the classes.
 * @param {{ stacked: string, layers: Object }} values */
function inPage({ stacked, layers }) {
  const weights = new Float32Array(bytes(stacked).buffer); // little-endian
  let theta;
  let at = "";
  return (alpha, image) => {
    if (at !== `${alpha}`) [theta, at] = [mixed(weights, alpha), `${alpha}`];
    return logits(layers, theta, image).map(softmax);
  };
}
