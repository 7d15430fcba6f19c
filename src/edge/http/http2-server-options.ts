import type { ServerOptions } from 'node:http2';
import { MAX_HEADER_LIST_SIZE, MAX_SEND_BLOCK_BYTES } from '../../lib/http2/heads.ts';
import { INITIAL_WINDOW_BYTES } from '../../lib/http2/session-windows.ts';
import { REPEATED_FIELDS, UNLIMITED_SESSION_MEMORY } from '../../lib/http2/shared-session.ts';
import { MAX_FIELDS } from './head-size.ts';
import type { HttpLimits } from './http-limits.ts';

/**
 * Resets allowed in a burst, and per second in the long run, before the connection is closed (CVE-2023-44487). The
 * runtime's defaults, kept deliberately: browsing a gallery resets hundreds of images within seconds.
 */
const STREAM_RESET_BURST = 1000;
const STREAM_RESETS_PER_SECOND = 33;
/** For pseudo header fields, and for a few more than allowed. */
const SPARE_FIELDS = 64;

/** Options of visitors' sessions. */
export function http2ServerOptions({
  maxHeaderBytes,
  maxHeaderCount,
  maxConcurrentStreams,
}: HttpLimits): ServerOptions {
  return {
    ...UNLIMITED_SESSION_MEMORY,
    ...REPEATED_FIELDS,
    maxSendHeaderBlockLength: MAX_SEND_BLOCK_BYTES,
    // More than allowed, here and in the settings: the runtime resets what exceeds it, without a response.
    maxHeaderListPairs: Math.max(maxHeaderCount, MAX_FIELDS) + SPARE_FIELDS,
    streamResetBurst: STREAM_RESET_BURST,
    streamResetRate: STREAM_RESETS_PER_SECOND,
    settings: {
      maxConcurrentStreams,
      maxHeaderListSize: Math.max(2 * maxHeaderBytes, MAX_HEADER_LIST_SIZE),
      enableConnectProtocol: true,
      initialWindowSize: INITIAL_WINDOW_BYTES,
    },
  };
}
