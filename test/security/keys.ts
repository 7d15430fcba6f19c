import { type Made, made } from '../concurrency/worlds.ts';
import type { TestWorld } from '../support/test-world.ts';

export type Key = Made & { readonly token: string };

/** A key with these scopes, or with all; created by the world's key, or by another. */
export async function makeKey(world: TestWorld, scopes?: readonly string[], by?: string): Promise<Key> {
  const body = scopes === undefined ? {} : { scopes };
  return made(await world.api('POST', '/api_keys', body, by === undefined ? {} : { key: by })) as Key;
}
