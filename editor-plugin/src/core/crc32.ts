/** CRC-32 (reflected, polynomial 0x04C11DB7) as zlib has it, and the CRC of two texts put together. */

const POLYNOMIAL = 0xedb88320;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) {
    crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  }
  return crc >>> 0;
});

export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc = (TABLE[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** The product of two polynomials modulo the CRC's; the highest power is the lowest bit. */
function multiply(one: number, other: number): number {
  let product = 0;
  let power = other;
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if (one & bit) {
      product ^= power;
    }
    power = power & 1 ? (power >>> 1) ^ POLYNOMIAL : power >>> 1;
  }
  return product >>> 0;
}

/** What a CRC is multiplied by when so many bytes follow: x to the power of 8 times that. */
export function shiftOf(bytes: number): number {
  let result = 0x80000000; // one
  let power = 0x00800000; // x^8
  for (let count = bytes; count > 0; count = Math.floor(count / 2)) {
    if (count % 2 === 1) {
      result = multiply(result, power);
    }
    power = multiply(power, power);
  }
  return result;
}

/** The CRC of two texts in a row, from the CRC of each and the second one's `shiftOf`. */
export function combine(first: number, second: number, shift: number): number {
  return (multiply(shift, first) ^ second) >>> 0;
}
