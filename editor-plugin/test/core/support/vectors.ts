import { readFileSync } from 'node:fs';

/** The test data that all implementations of the wire share. */
export function vectors<T>(name: string): T[] {
  return JSON.parse(readFileSync(new URL(`../../../../tests/data/${name}.json`, import.meta.url), 'utf8')) as T[];
}
