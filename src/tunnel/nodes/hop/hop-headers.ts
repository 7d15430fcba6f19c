import type { IncomingHttpHeaders } from 'node:http2';
import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import { splitAddress } from '../../../kit/net/host-name.ts';
import type { AgentLink } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import { VISITOR_HEADER } from '../../../proxy/edge/tunnels/stream-headers.ts';
import { HOP_TRACE_HEADER, withoutHopTrace } from '../../../proxy/tracing/request-trace.ts';
import { CLIENT_ADDRESS_HEADER } from '../../protocol/protocol.ts';
import { ChannelViolation } from '../channel/channel-frames.ts';
import type { ReceivedRequest } from '../channel/incoming-channel.ts';

/** The headers of a stream on its next way: those for nodes and threads go no further. */
export function rawFor({ relay }: AgentLink, raw: HeaderList): HeaderList {
  if (relay === 'node') return raw;
  const untraced = raw.includes(HOP_TRACE_HEADER) ? withoutHopTrace(raw) : raw;
  // The visitor's header comes last.
  return relay === undefined && untraced.at(-2) === VISITOR_HEADER ? untraced.slice(0, -2) : untraced;
}

/** The sender adds its own headers at the end. */
export function lastValue(raw: HeaderList, name: string): string | undefined {
  for (let at = raw.length - 2; at >= 0; at -= 2) if (raw[at] === name) return raw[at + 1];
  return undefined;
}

/** The visitor for whom another node or thread opens a stream. */
export function visitorOf(headers: IncomingHttpHeaders): string | undefined {
  const address = headers[CLIENT_ADDRESS_HEADER];
  if (typeof address === 'string') return splitAddress(address).host;
  const visitor = headers[VISITOR_HEADER];
  return typeof visitor === 'string' ? visitor : undefined;
}

/** Holds another node to the length of a request body that it has announced. */
export class AnnouncedLength {
  /** Null: the length is not known. */
  #bytesLeft: number | null = null;

  constructor({ raw, hasBody, mayHaveTrailers }: ReceivedRequest) {
    const length = hasBody && !mayHaveTrailers ? firstValue(raw, 'content-length') : undefined;
    if (length !== undefined) this.#bytesLeft = Number(length);
  }

  passed(bytes: number): void {
    if (this.#bytesLeft === null) return;
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0) throw new ChannelViolation('more data than the request announced');
  }

  ended(): void {
    if ((this.#bytesLeft ?? 0) > 0) throw new ChannelViolation('less data than the request announced');
  }
}
