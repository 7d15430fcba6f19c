import { combinedValue, type HeaderList, httpDateMs } from '../http/header-values.ts';

/** What a client can compare with its copy. */
export interface Validators {
  /** With its quotes, and `W/` if it is weak. */
  readonly etag: string;
  /** Whole seconds: HTTP has no others. */
  readonly modifiedMs: number;
}

/** How a request with conditions is answered. */
export type Precondition = 'passed' | 'not_modified' | 'failed';

/** RFC 9110 §13.2.2, for GET and HEAD of something that exists. */
export function preconditionOf(headers: HeaderList, { etag, modifiedMs }: Validators): Precondition {
  const ifMatch = combinedValue(headers, 'if-match');
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, etag, true)) return 'failed';
  } else {
    const unmodifiedSince = httpDateMs(combinedValue(headers, 'if-unmodified-since') ?? '');
    if (unmodifiedSince !== null && modifiedMs > unmodifiedSince) return 'failed';
  }
  const ifNoneMatch = combinedValue(headers, 'if-none-match');
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, etag, false) ? 'not_modified' : 'passed';
  const modifiedSince = httpDateMs(combinedValue(headers, 'if-modified-since') ?? '');
  return modifiedSince !== null && modifiedMs <= modifiedSince ? 'not_modified' : 'passed';
}

/**
 * RFC 9110 §13.1.5: whether a Range counts. Only a strong tag, or the exact date, shows that the parts fit together.
 */
export function isRangeCurrent(ifRange: string | undefined, { etag, modifiedMs }: Validators): boolean {
  if (ifRange === undefined) return true;
  const value = ifRange.trim();
  if (value.startsWith('"') || value.startsWith('W/')) return value === etag && !etag.startsWith('W/');
  return httpDateMs(value) === modifiedMs;
}

const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

function matches(list: string, etag: string, isStrong: boolean): boolean {
  if (list.trim() === '*') return true;
  const tags: readonly string[] = list.match(TAG) ?? [];
  if (isStrong) return !etag.startsWith('W/') && tags.includes(etag);
  const own = opaque(etag);
  return tags.some((tag) => opaque(tag) === own);
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
