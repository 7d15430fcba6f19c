import assert from 'node:assert/strict';
import type { HeaderList } from '../../src/kit/http/header-values.ts';
import type { ParserProblem } from '../../src/kit/http1/chunked-body.ts';
import { Http1ResponseParser, type ParserState } from '../../src/proxy/upstream/http1-response-parser.ts';
import type { ResponseHead } from '../../src/proxy/upstream/upstream.ts';

export interface ParsedAnswer {
  readonly state: ParserState;
  readonly problem: ParserProblem | null;
  readonly informational: readonly (readonly [number, HeaderList])[];
  readonly head: ResponseHead | null;
  readonly body: string;
  readonly trailers: HeaderList;
  readonly isReusable: boolean;
  readonly keepAliveSeconds: number;
  readonly hasConnectionAuth: boolean;
  /** Bytes that the response did not consume. */
  readonly rest: string;
}

export interface ParseOptions {
  readonly isHead?: boolean;
  readonly switchTo?: string;
  /** The upstream closes its side after the last piece. */
  readonly ends?: boolean;
  readonly stopsAtData?: boolean;
}

/** Feeds pieces of a response to a parser with the limits of a small upstream and records its calls. */
export function parseAnswer(pieces: readonly (string | Uint8Array)[], options: ParseOptions = {}): ParsedAnswer {
  const informational: [number, HeaderList][] = [];
  let head: ResponseHead | null = null;
  let body = '';
  let rest = '';
  const parser = new Http1ResponseParser(
    {
      onInformational: (status, headers) => informational.push([status, headers]),
      onHead: (given) => {
        head = given;
      },
      onData: (chunk) => {
        body += chunk.toString('latin1');
        if (options.stopsAtData === true) parser.stop();
      },
      onBorrowedData: () => assert.fail('the buffer is not reused'),
    },
    { maxHeaderBytes: 16_384, maxHeaderCount: 100, isBufferReused: false },
  );
  parser.begin(options.isHead === true, options.switchTo ?? null);
  for (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece, 'latin1') : Buffer.from(piece);
    rest += bytes.subarray(parser.execute(bytes)).toString('latin1');
  }
  if (options.ends === true) parser.finish();
  const { state, problem, trailers, isReusable, keepAliveSeconds, hasConnectionAuth } = parser;
  return {
    state,
    problem,
    informational,
    head,
    body,
    trailers,
    isReusable,
    keepAliveSeconds,
    hasConnectionAuth,
    rest: state === 'failed' ? '' : rest,
  };
}
