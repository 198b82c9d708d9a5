/** MessagePack, as much of it as the wire has: nil, booleans, numbers, strings, arrays, and maps. */

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Encode a value; a `Map` becomes a map, whatever its keys are. */
export function encodeMsgpack(value: unknown): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  writer.value(value);
  return writer.taken();
}

/** Decode one value that takes all of the bytes; maps become `Map`s. Throws a RangeError or TypeError if it is none. */
export function decodeMsgpack(bytes: Uint8Array): unknown {
  const reader = new Reader(bytes);
  const value = reader.value();
  reader.end();
  return value;
}

class Writer {
  private bytes = new Uint8Array(256);
  private view = new DataView(this.bytes.buffer);
  private at = 0;

  taken(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.at);
  }

  value(value: unknown): void {
    if (value === null || value === undefined) {
      this.byte(0xc0);
    } else if (typeof value === 'boolean') {
      this.byte(value ? 0xc3 : 0xc2);
    } else if (typeof value === 'number') {
      this.number(value);
    } else if (typeof value === 'string') {
      const text = encoder.encode(value);
      this.head(text.length, 0xa0, 31, [0xd9, 0xda, 0xdb]);
      this.room(text.length);
      this.bytes.set(text, this.at);
      this.at += text.length;
    } else if (Array.isArray(value)) {
      this.head(value.length, 0x90, 15, [undefined, 0xdc, 0xdd]);
      value.forEach((item) => this.value(item));
    } else if (value instanceof Map) {
      this.head(value.size, 0x80, 15, [undefined, 0xde, 0xdf]);
      for (const [key, item] of value as Map<unknown, unknown>) {
        this.value(key);
        this.value(item);
      }
    } else {
      throw new TypeError(`a ${typeof value} can't be sent`);
    }
  }

  private number(value: number): void {
    if (!Number.isSafeInteger(value)) {
      this.byte(0xcb);
      this.room(8);
      this.view.setFloat64(this.at, value);
      this.at += 8;
    } else if (value >= -32 && value < 128) {
      this.byte(value & 0xff);
    } else if (value >= 0 && value <= 0xffffffff) {
      const [tag, size] = value <= 0xff ? [0xcc, 1] : value <= 0xffff ? [0xcd, 2] : [0xce, 4];
      this.byte(tag);
      this.unsigned(value, size);
    } else if (value >= -0x80000000 && value < 0) {
      const [tag, size] = value >= -0x80 ? [0xd0, 1] : value >= -0x8000 ? [0xd1, 2] : [0xd2, 4];
      this.byte(tag);
      this.unsigned(value < 0 ? value + 2 ** (8 * size) : value, size);
    } else {
      this.byte(value < 0 ? 0xd3 : 0xcf);
      this.room(8);
      this.view.setInt32(this.at, Math.floor(value / 2 ** 32));
      this.view.setUint32(this.at + 4, value >>> 0);
      this.at += 8;
    }
  }

  /** A tag with a small length in it, or one before a length of one, two or four bytes. */
  private head(length: number, small: number, most: number, tags: readonly (number | undefined)[]): void {
    if (length <= most) {
      this.byte(small | length);
      return;
    }
    const size = length <= 0xff && tags[0] !== undefined ? 1 : length <= 0xffff ? 2 : 4;
    this.byte(tags[size === 1 ? 0 : size === 2 ? 1 : 2] as number);
    this.unsigned(length, size);
  }

  private byte(value: number): void {
    this.room(1);
    this.bytes[this.at++] = value;
  }

  private unsigned(value: number, size: number): void {
    this.room(size);
    for (let shift = size - 1; shift >= 0; shift--) {
      this.bytes[this.at++] = Math.floor(value / 2 ** (8 * shift)) & 0xff;
    }
  }

  private room(size: number): void {
    if (this.at + size > this.bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.at + size));
      larger.set(this.bytes);
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
  }
}

class Reader {
  private readonly view: DataView;
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  end(): void {
    if (this.at !== this.bytes.length) {
      throw new RangeError('there are bytes behind the message');
    }
  }

  value(): unknown {
    const tag = this.unsigned(1);
    if (tag < 0x80) {
      return tag;
    }
    if (tag >= 0xe0) {
      return tag - 0x100;
    }
    if (tag < 0x90) {
      return this.map(tag & 0x0f);
    }
    if (tag < 0xa0) {
      return this.array(tag & 0x0f);
    }
    if (tag < 0xc0) {
      return this.text(tag & 0x1f);
    }
    switch (tag) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        return this.view.getFloat32(this.skip(4));
      case 0xcb:
        return this.view.getFloat64(this.skip(8));
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return this.unsigned(2 ** (tag - 0xcc));
      case 0xd0:
        return this.view.getInt8(this.skip(1));
      case 0xd1:
        return this.view.getInt16(this.skip(2));
      case 0xd2:
        return this.view.getInt32(this.skip(4));
      case 0xd3: {
        const at = this.skip(8);
        return this.view.getInt32(at) * 2 ** 32 + this.view.getUint32(at + 4);
      }
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.text(this.unsigned(2 ** (tag - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.array(this.unsigned(tag === 0xdc ? 2 : 4));
      case 0xde:
      case 0xdf:
        return this.map(this.unsigned(tag === 0xde ? 2 : 4));
      default:
        throw new TypeError(`the wire has no values of MessagePack type 0x${tag.toString(16)}`);
    }
  }

  private text(length: number): string {
    const at = this.skip(length);
    return decoder.decode(this.bytes.subarray(at, at + length));
  }

  private array(length: number): unknown[] {
    this.enough(length);
    return Array.from({ length }, () => this.value());
  }

  private map(length: number): Map<unknown, unknown> {
    this.enough(2 * length);
    const result = new Map<unknown, unknown>();
    for (let index = 0; index < length; index++) {
      const key = this.value();
      result.set(key, this.value());
    }
    return result;
  }

  private unsigned(size: number): number {
    let value = 0;
    for (let at = this.skip(size), end = at + size; at < end; at++) {
      value = value * 256 + (this.bytes[at] as number);
    }
    return value;
  }

  private skip(size: number): number {
    this.enough(size);
    const at = this.at;
    this.at += size;
    return at;
  }

  /** Each item takes a byte at least, so a length that promises more than there is is wrong. */
  private enough(size: number): void {
    if (this.at + size > this.bytes.length) {
      throw new RangeError('the message ends too early');
    }
  }
}
