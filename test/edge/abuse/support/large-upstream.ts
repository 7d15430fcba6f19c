import { PassThrough } from 'node:stream';
import type { Cleanup } from '../../../support/cleanup.ts';
import { type RecordingUpstream, recordingUpstream } from '../../traffic/recording-upstream.ts';

const PIECE = Buffer.alloc(64 * 1024, 'x');

export interface LargeUpstream extends RecordingUpstream {
  /** Bytes of large responses written to the sockets. */
  sent: number;
}

/**
 * `/large/<bytes>` sends as many as the reader accepts, `/small` 20 KB at once, `/never` nothing, everything else `ok`.
 */
export async function largeUpstream(test: Cleanup): Promise<LargeUpstream> {
  const upstream: LargeUpstream = Object.assign(await recordingUpstream(test), { sent: 0 });
  upstream.answer = (request, response) => {
    const { url = '' } = request;
    if (url === '/never') return;
    if (url === '/small') response.end(Buffer.alloc(20_000, 'x'));
    else if (!url.startsWith('/large/')) response.end('ok');
    else {
      const total = Number(url.slice('/large/'.length));
      let left = total;
      response.writeHead(200, { 'content-length': total });
      const source = new PassThrough();
      const push = (): void => {
        while (left > 0) {
          const piece = PIECE.subarray(0, Math.min(left, PIECE.length));
          left -= piece.length;
          upstream.sent += piece.length;
          if (!source.write(piece)) return;
        }
        source.end();
      };
      source.on('drain', push).pipe(response);
      push();
    }
  };
  return upstream;
}
