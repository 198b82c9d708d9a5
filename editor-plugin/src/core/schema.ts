/**
 * How one describes messages: fields in the order of the wire, each read, checked and written by one description,
 * which is also their type. A record travels as an array; new fields come at the end and have defaults.
 */

/** A frame that is no message, or a value that can't be sent; says which field and what there may be. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** `T` is what one reads; what one writes, `G`, may leave out more. */
export interface Field<T, G = T> {
  /** Check and convert what came. `path` names it in errors. */
  read(value: unknown, path: string): T;
  /** Check and convert what is to be sent. */
  write(value: G, path: string): unknown;
}

export interface OptionalField<T, G = T> extends Field<T, G> {
  readonly fallback: T;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- of any type, which is inferred from it
type AnyField = Field<any, any>;
type Fields = Record<string, AnyField>;
type OptionalKeys<F> = { [K in keyof F]: F[K] extends { readonly fallback: unknown } ? K : never }[keyof F];

/** What one gets: every field. */
export type Read<F> = { [K in keyof F]: F[K] extends Field<infer T, infer _G> ? T : never };
type GivenValue<F> = F extends Field<infer _T, infer G> ? G : never;
/** What one gives: those with a default may be left out. */
export type Given<F> = { [K in Exclude<keyof F, OptionalKeys<F>>]: GivenValue<F[K]> } & {
  [K in OptionalKeys<F>]?: GivenValue<F[K]> | undefined;
};

function scalar<T>(check: (value: unknown) => value is T, what: string): Field<T> {
  const read = (value: unknown, path: string): T => {
    if (!check(value)) {
      throw new WireError(`${path} is ${shown(value)}, not ${what}`);
    }
    return value;
  };
  return { read, write: read };
}

function shown(value: unknown): string {
  if (typeof value === 'string') {
    return `a text of ${value.length} units`; // never the text itself
  }
  return Array.isArray(value) ? 'an array' : String(value);
}

export function whole(least = 0, most = Number.MAX_SAFE_INTEGER): Field<number> {
  return scalar(
    (value): value is number => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
    `a whole number from ${least} to ${most}`,
  );
}

export function real(least = -Infinity, most = Infinity, above = false): Field<number> {
  return scalar(
    (value): value is number =>
      typeof value === 'number' && (above ? value > least : value >= least) && value <= most,
    `a number ${above ? 'above' : 'from'} ${least} to ${most}`,
  );
}

/** A string; limits count characters. */
export function text(most = Infinity, least = 0): Field<string> {
  return scalar(
    (value): value is string => typeof value === 'string' && value.length >= least && fits(value, most),
    most === Infinity ? 'a string' : `a string of ${least} to ${most} characters`,
  );
}

function fits(value: string, most: number): boolean {
  return value.length <= most || (value.length <= 2 * most && [...value].length <= most);
}

export const flag: Field<boolean> = scalar((value) => typeof value === 'boolean', 'true or false');

export function oneOf<T extends string>(...choices: T[]): Field<T> {
  return scalar((value): value is T => choices.includes(value as T), `one of ${choices.join(', ')}`);
}

export function either<A, B>(one: Field<A>, other: Field<B>, is: (value: unknown) => boolean): Field<A | B> {
  return {
    read: (value, path) => (is(value) ? one.read(value, path) : other.read(value, path)),
    write: (value, path) => (is(value) ? one.write(value as A, path) : other.write(value as B, path)),
  };
}

export function nullable<T, G>(field: Field<T, G>): Field<T | null, G | null> {
  return {
    read: (value, path) => (value === null ? null : field.read(value, path)),
    write: (value, path) => (value === null ? null : field.write(value, path)),
  };
}

export function optional<T, G>(field: Field<T, G>, fallback: T): OptionalField<T, G> {
  return { read: (value, path) => field.read(value, path), write: (value, path) => field.write(value, path), fallback };
}

export function list<T, G>(field: Field<T, G>, most = Infinity): Field<readonly T[], readonly G[]> {
  const each = (value: unknown, path: string, convert: (item: unknown, path: string) => unknown): unknown[] => {
    if (!Array.isArray(value)) {
      throw new WireError(`${path} is ${shown(value)}, not an array`);
    }
    if (value.length > most) {
      throw new WireError(`${path} has ${value.length} items; at most ${most} are taken`);
    }
    return value.map((item, index) => convert(item, `${path}[${index}]`));
  };
  return {
    read: (value, path) => each(value, path, (item, at) => field.read(item, at)) as T[],
    write: (value, path) => each(value, path, (item, at) => field.write(item as G, at)),
  };
}

/** A map of numbers to numbers. In JSON its keys are strings, in MessagePack they are integers. */
export function numberMap(key: Field<number>, field: Field<number>, most: number): Field<ReadonlyMap<number, number>> {
  return {
    read(value, path) {
      const entries = value instanceof Map ? [...value] : isObject(value) ? Object.entries(value) : null;
      if (entries === null || entries.length > most) {
        throw new WireError(`${path} is ${shown(value)}, not a map of at most ${most} numbers`);
      }
      return new Map(
        (entries as [unknown, unknown][]).map(([name, item]) => [
          key.read(Number(name), `a key of ${path}`),
          field.read(item, `${path}[${String(name)}]`),
        ]),
      );
    },
    write(value, path) {
      return this.read(value, path);
    },
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An array of fields in order. Items beyond are ignored when it is read; trailing defaults are left out in writing. */
export interface RecordField<F> extends Field<Read<F>, Given<F>> {
  readonly names: readonly string[];
  readItems(items: readonly unknown[], path: string): Read<F>;
  writeItems(value: Given<F>, path: string): unknown[];
}

export function record<F extends Fields>(fields: F): RecordField<F> {
  const described = Object.entries(fields as Record<string, Field<unknown>>);
  return {
    names: described.map(([name]) => name),
    read(value, path) {
      if (!Array.isArray(value)) {
        throw new WireError(`${path} is ${shown(value)}, not an array`);
      }
      return this.readItems(value, path);
    },
    readItems(items, path) {
      const result: Record<string, unknown> = {};
      described.forEach(([name, field], index) => {
        if (index < items.length) {
          result[name] = field.read(items[index], `${path}.${name}`);
        } else if (isOptional(field)) {
          result[name] = field.fallback;
        } else {
          throw new WireError(`${path}.${name} is missing`);
        }
      });
      return result as Read<F>;
    },
    write(value, path) {
      return this.writeItems(value, path);
    },
    writeItems(value, path) {
      const given = value as Record<string, unknown>;
      const items: unknown[] = [];
      let length = 0;
      for (const [name, field] of described) {
        const own = given[name];
        const isDefault = isOptional(field) && (own === undefined || isSame(own, field.fallback));
        const item = isOptional(field) && own === undefined ? field.fallback : own;
        items.push(field.write(item, `${path}.${name}`));
        length = isDefault ? length : items.length;
      }
      return items.slice(0, length);
    },
  };
}

function isOptional(field: Field<unknown>): field is OptionalField<unknown> {
  return 'fallback' in field;
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other));
}
