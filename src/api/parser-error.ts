import type { PosternError } from '../lib/errors.ts';
import { apiErrors } from './errors.ts';

/** The error that Node's HTTP parser reports with `clientError`. */
export interface ParserError extends Error {
  readonly code?: string;
  /** The bytes being parsed; they may start with earlier requests of the connection. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}) (\/[\x21-\x7e]*) HTTP\/1\.[01]\r?$/;

export type RefusePath = (method: string, url: string) => PosternError;

/**
 * Why a request could not be parsed. `refusePath` distinguishes an unknown method on a known path from an unknown path.
 */
export function parserRefusal(error: ParserError, refusePath: RefusePath): PosternError {
  switch (error.code ?? '') {
    case 'HPE_HEADER_OVERFLOW':
      return apiErrors.create(
        'ERR_POSTERN_API_HEADERS_TOO_LARGE',
        'the request line and the headers are larger than 16 KiB: send fewer or shorter ones',
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return apiErrors.create(
        'ERR_POSTERN_API_REQUEST_TIMEOUT',
        'the request did not arrive completely in time: send it again',
      );
    case 'HPE_INVALID_METHOD': {
      const [, method, url] = REQUEST_LINE.exec(rejectedLine(error)) ?? [];
      return method === undefined || url === undefined ? malformed(error) : refusePath(method, url);
    }
    default:
      return malformed(error);
  }
}

/** The line at which the parser stopped. */
function rejectedLine({ rawPacket, bytesParsed = 0 }: ParserError): string {
  if (rawPacket === undefined) return '';
  const start = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1;
  const end = rawPacket.indexOf('\n', start);
  return end === -1 ? '' : rawPacket.toString('latin1', start, end);
}

function malformed({ code = 'unknown error' }: ParserError): PosternError {
  return apiErrors.create(
    'ERR_POSTERN_BAD_REQUEST',
    `the request is not well-formed HTTP/1.1 (${code}): check the request line, the headers and the framing of the body`,
  );
}
