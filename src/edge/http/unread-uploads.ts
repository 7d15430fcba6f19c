const MIB = 1024 * 1024;
/** Unread data of one connection, and of all connections of the process, before uploads are ended. */
const MAX_UNREAD_PER_CONNECTION = 96 * MIB;
const MAX_UNREAD_IN_TOTAL = 256 * MIB;
/** What windows allow one connection, unless many connections upload at once. */
const WINDOWS_PER_CONNECTION = 64 * MIB;
/** Bytes that arrive for streams that nobody reads, until all of them are measured: more are never missed. */
const MEASURE_EVERY_BYTES = 4 * MIB;

/** A connection with uploads. */
export interface UploadingConnection {
  /** Its uploads are not read as fast as they arrive; the sum of what waits. */
  onUnread(bytes: number): void;
}

/** An upload with data that nobody has read yet. */
export interface UnreadUpload {
  /** Memory that its unread data takes; 0 when it has none. */
  readonly unreadBytes: number;
  readonly connection: UploadingConnection;
  /** Ends it, and frees the data. */
  refuseUnread(): void;
}

/**
 * Bounds the memory of uploads over HTTP/2 whose upstream reads them slower than they arrive. Wide windows let a fast
 * line send many megabytes ahead. Windows follow the number of streams and connections and what their readers do, but
 * only a client that confirms our settings obeys them. So the data itself is counted as well: above a limit, the uploads
 * with most of it are ended, first those of the connection that has too much. One that is read as fast as it arrives
 * costs nothing.
 */
export class UnreadUploads {
  readonly #uploads = new Set<UnreadUpload>();
  #connections = 0;
  #sinceMeasured = 0;

  /** A connection has begun its only upload. */
  began(): void {
    this.#connections += 1;
  }

  ended(): void {
    this.#connections -= 1;
  }

  /** What the windows of one connection may add up to. */
  readonly windowsPerConnection = (): number =>
    Math.min(WINDOWS_PER_CONNECTION, MAX_UNREAD_IN_TOTAL / Math.max(1, this.#connections));

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
      this.#refuseDownTo(MAX_UNREAD_PER_CONNECTION, uploads);
    }
    this.#refuseDownTo(MAX_UNREAD_IN_TOTAL, [...this.#uploads]);
  }

  #refuseDownTo(most: number, uploads: readonly UnreadUpload[]): void {
    let sum = sumOf(uploads);
    if (sum <= most) return;
    for (const upload of uploads.toSorted((a, b) => b.unreadBytes - a.unreadBytes)) {
      if (sum <= most) return;
      sum -= upload.unreadBytes;
      this.#uploads.delete(upload);
      upload.refuseUnread();
    }
  }
}

function sumOf(uploads: readonly UnreadUpload[]): number {
  return uploads.reduce((sum, { unreadBytes }) => sum + unreadBytes, 0);
}
