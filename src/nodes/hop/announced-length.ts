import { firstValue } from '../../lib/http/header-list.ts';
import { ChannelViolation } from '../channel/channel-frames.ts';
import type { ReceivedRequest } from '../channel/incoming-channel.ts';

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
