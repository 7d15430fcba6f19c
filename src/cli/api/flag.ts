import type { TSchema } from 'typebox';
import type { Flag } from '../../lib/flags.ts';

/** A flag of `postern api RESOURCE VERB`. */
export interface ApiFlag extends Flag {
  readonly target: FlagTarget;
  readonly schema?: TSchema;
}

export type FlagTarget =
  | { readonly in: 'path'; readonly name: string }
  | { readonly in: 'query'; readonly name: string }
  | { readonly in: 'body'; readonly path: readonly string[] }
  /** For the command itself. */
  | { readonly in: 'command' };

/** Parsed as JSON when it looks like JSON, whatever the field's own short form. */
export function canBeJson({ kind }: ApiFlag): boolean {
  return kind === 'list' || kind === 'map' || kind === 'object' || kind === 'json';
}
