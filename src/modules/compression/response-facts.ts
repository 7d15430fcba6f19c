import type { HeaderList } from '../../lib/http/header-list.ts';

/** Facts in a response's headers that decide whether it may be compressed. */
export interface ResponseFacts {
  readonly contentType: string | undefined;
  /** A coding other than `identity` was already applied. */
  readonly isEncoded: boolean;
  readonly hasContentRange: boolean;
  readonly hasNoTransform: boolean;
  /** RFC 9421: the signature may cover what we would change. */
  readonly isSigned: boolean;
}

/** One pass over the headers: this runs for every response of the route. */
export function readFacts(headers: HeaderList): ResponseFacts {
  let contentType: string | undefined;
  let isEncoded = false;
  let hasContentRange = false;
  let hasNoTransform = false;
  let isSigned = false;
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] ?? '';
    switch (headers[at] ?? '') {
      case 'content-type':
        contentType ??= value;
        break;
      case 'content-encoding':
        isEncoded ||= !/^[ \t]*(?:identity[ \t]*)?$/i.test(value);
        break;
      case 'content-range':
        hasContentRange = true;
        break;
      case 'cache-control':
        hasNoTransform ||= saysNoTransform(value);
        break;
      case 'signature-input':
        isSigned = true;
        break;
      default:
    }
  }
  return { contentType, isEncoded, hasContentRange, hasNoTransform, isSigned };
}

/**
 * RFC 9110 §7.7: the content of such a message must not change. Also matches the words inside a quoted list; that costs
 * only a compression.
 */
export function saysNoTransform(cacheControl: string | undefined): boolean {
  return cacheControl !== undefined && /(?:^|,)[ \t]*no-transform[ \t]*(?:,|$)/i.test(cacheControl);
}
