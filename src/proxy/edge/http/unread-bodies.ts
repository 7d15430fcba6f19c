import { guarded, reporting } from '../../../kit/guarded-listeners.ts';
import { ownerOf } from '../../../kit/net/shared-places.ts';
import { onCrowding, waitingBytes } from '../../../kit/net/waiting-bytes.ts';

const MIB = 1024 * 1024;
/** Unread data of one connection, and of all connections of the process, before uploads are ended. */
const MAX_UNREAD_PER_CONNECTION = 96 * MIB;
const MAX_UNREAD_IN_TOTAL = 256 * MIB;
/** The same for responses: what waits for the clients of one address, and for all. */
const MAX_UNSENT_PER_ADDRESS = 96 * MIB;
const MAX_UNSENT_IN_TOTAL = 256 * MIB;
/** What windows allow one connection, unless many connections upload at once. */
const WINDOWS_PER_CONNECTION = 64 * MIB;
/** All connections of one address, also while no other uploads: one that comes next finds room. */
const WINDOWS_PER_ADDRESS = MAX_UNREAD_IN_TOTAL / 2;
/** Bytes that arrive for streams that nobody reads, until all of them are measured: more are never missed. */
const MEASURE_EVERY_BYTES = 4 * MIB;

/** A response of which a part waits in this process for its client. */
export interface UnsentResponse {
  readonly clientAddress: string;
  /** 0: nothing waits. */
  readonly unsentBytes: number;
  /** Ends it, and frees the data. */
  refuseUnsent(): void;
}

/** The address that a connection counts for. One of a trusted proxy counts for itself: it has many visitors. */
export type UploadOwner = string | UploadingConnection;

/** A connection with uploads. */
export interface UploadingConnection {
  /** The connection's uploads are not read as fast as they arrive; the sum of what waits. */
  onUnread(bytes: number): void;
}

/** An upload with data that nobody has read yet. */
export interface UnreadUpload {
  readonly clientAddress: string;
  /** Memory that its unread data takes; 0 when it has none. */
  readonly unreadBytes: number;
  readonly connection: UploadingConnection;
  /** Ends it, and frees the data. */
  refuseUnread(): void;
}

/**
 * Bounds the memory of uploads over HTTP/2 whose upstream reads them slower than they arrive. Wide windows let a fast
 * line send many megabytes ahead. Windows follow the number of streams and connections and what their readers do, but
 * only a client that confirms our settings obeys them. So the data itself is counted as well: above a limit, the
 * uploads with most of it are ended, first those of the connection that has too much, then those of the address that
 * has most. One that is read as fast as it arrives costs nothing.
 */
export class UnreadUploads {
  readonly #uploads = new Set<UnreadUpload>();
  /** Connections with uploads, by address. */
  readonly #connections = new Map<UploadOwner, number>();
  #sinceMeasured = 0;

  /** A connection has begun its only upload. */
  began(owner: UploadOwner): void {
    this.#connections.set(owner, (this.#connections.get(owner) ?? 0) + 1);
  }

  ended(owner: UploadOwner): void {
    const others = (this.#connections.get(owner) ?? 0) - 1;
    if (others > 0) this.#connections.set(owner, others);
    else this.#connections.delete(owner);
  }

  /** What the windows of one connection may add up to: its part of its address's share. */
  windowsPerConnection(owner: UploadOwner): number {
    const ofAddress = Math.min(WINDOWS_PER_ADDRESS, MAX_UNREAD_IN_TOTAL / Math.max(1, this.#connections.size));
    return Math.min(WINDOWS_PER_CONNECTION, ofAddress / Math.max(1, this.#connections.get(owner) ?? 0));
  }

  /** Bytes have arrived for an upload, and wait. */
  add(upload: UnreadUpload, bytes: number): void {
    this.#uploads.add(upload);
    this.#sinceMeasured += bytes;
    if (this.#sinceMeasured < MEASURE_EVERY_BYTES) return;
    this.#sinceMeasured = 0;
    this.#measure();
  }

  delete(upload: UnreadUpload): void {
    this.#uploads.delete(upload);
  }

  #measure(): void {
    const connections = new Map<UploadingConnection, UnreadUpload[]>();
    for (const upload of this.#uploads) {
      if (upload.unreadBytes === 0) this.#uploads.delete(upload);
      else {
        const others = connections.get(upload.connection);
        if (others === undefined) connections.set(upload.connection, [upload]);
        else others.push(upload);
      }
    }
    for (const [connection, uploads] of connections) {
      connection.onUnread(sumOf(uploads));
      this.#refuse(largestAbove(MAX_UNREAD_PER_CONNECTION, uploads.map(unreadPart)));
    }
    const left = [...this.#uploads];
    if (sumOf(left) > MAX_UNREAD_IN_TOTAL)
      this.#refuse(aboveShares(left.map(unreadPart), Number.POSITIVE_INFINITY, MAX_UNREAD_IN_TOTAL));
  }

  #refuse(uploads: readonly UnreadUpload[]): void {
    for (const upload of uploads) {
      this.#uploads.delete(upload);
      upload.refuseUnread();
    }
  }
}

/**
 * Bounds the memory of responses whose clients read them slower than they arrive. What waits is counted where it waits
 * (`waiting-bytes.ts`); while it is much, senders are paused sooner and get smaller windows. What is left is one part
 * of each response, so only an address with a thousand of them gets here: then its largest ones are cut, or those of
 * the address with most, if it is too much in total.
 */
export class UnsentResponses {
  readonly #responses: () => Iterable<UnsentResponse>;
  readonly #forget: () => void;
  #isScheduled = false;

  constructor(responses: () => Iterable<UnsentResponse>) {
    this.#responses = responses;
    this.#forget = onCrowding(() => this.#measureSoon());
  }

  close(): void {
    this.#forget();
  }

  /** Not at once: one of them may just be written. */
  #measureSoon(): void {
    if (this.#isScheduled || waitingBytes() < MAX_UNSENT_PER_ADDRESS) return;
    this.#isScheduled = true;
    setImmediate(
      guarded(reporting('unsent responses'), () => {
        this.#isScheduled = false;
        this.measure();
      }),
    );
  }

  measure(): void {
    const parts: Part<UnsentResponse>[] = [];
    for (const body of this.#responses()) {
      const bytes = body.unsentBytes;
      if (bytes > 0) parts.push({ body, bytes });
    }
    for (const response of aboveShares(parts, MAX_UNSENT_PER_ADDRESS, MAX_UNSENT_IN_TOTAL)) response.refuseUnsent();
  }
}

interface Part<Body> {
  readonly body: Body;
  readonly bytes: number;
}

/** Bodies to end, so that no address has too much, and all together neither: first those of the address with most. */
function aboveShares<Body extends { readonly clientAddress: string }>(
  parts: readonly Part<Body>[],
  mostPerAddress: number,
  mostInTotal: number,
): readonly Body[] {
  const addresses = new Map<string, { bytes: number; parts: Part<Body>[] }>();
  let total = 0;
  for (const part of parts) {
    total += part.bytes;
    const owner = ownerOf(part.body.clientAddress);
    const address = addresses.get(owner);
    if (address === undefined) addresses.set(owner, { bytes: part.bytes, parts: [part] });
    else {
      address.bytes += part.bytes;
      address.parts.push(part);
    }
  }
  const ended: Body[] = [];
  for (const { bytes, parts: own } of [...addresses.values()].toSorted((a, b) => b.bytes - a.bytes)) {
    const most = Math.min(mostPerAddress, Math.max(0, bytes - (total - mostInTotal)));
    ended.push(...largestAbove(most, own));
    total -= Math.max(0, bytes - most);
  }
  return ended;
}

/** Bodies to end, so that the others have at most this much: the largest first. */
function largestAbove<Body>(most: number, parts: readonly Part<Body>[]): readonly Body[] {
  let sum = parts.reduce((all, { bytes }) => all + bytes, 0);
  if (sum <= most) return [];
  const ended: Body[] = [];
  for (const { body, bytes } of parts.toSorted((a, b) => b.bytes - a.bytes)) {
    if (sum <= most) break;
    sum -= bytes;
    ended.push(body);
  }
  return ended;
}

function unreadPart(body: UnreadUpload): Part<UnreadUpload> {
  return { body, bytes: body.unreadBytes };
}

function sumOf(uploads: readonly UnreadUpload[]): number {
  return uploads.reduce((sum, { unreadBytes }) => sum + unreadBytes, 0);
}
