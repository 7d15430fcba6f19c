import type { ClientHttp2Stream } from 'node:http2';
import { SharedPlaces } from '../net/shared-places.ts';

const PLACE = Symbol('place');
type Placed = ClientHttp2Stream & { [PLACE]?: number | undefined };

/** The streams of a session, shared by the visitors for whom they are. A stream knows its own place. */
export class StreamPlaces extends SharedPlaces {
  take(stream: ClientHttp2Stream, visitor: string | undefined): void {
    (stream as Placed)[PLACE] = this.enter(visitor);
  }

  giveBack(stream: ClientHttp2Stream): void {
    const place = (stream as Placed)[PLACE];
    if (place === undefined) return;
    (stream as Placed)[PLACE] = undefined;
    this.leave(place);
  }
}
