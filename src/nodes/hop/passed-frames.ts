import type { Http2Stream } from 'node:http2';
import { WebSocketDirection } from '../../lib/http/web-socket-direction.ts';

/** The frames of a WebSocket that passes through. */
export class PassedFrames {
  readonly toClient = new WebSocketDirection('client');
  readonly toService = new WebSocketDirection('service');
  isClosing = false;

  /** Call `close` again after each frame. True: both directions are closed. */
  close(client: Http2Stream, service: Http2Stream): boolean {
    this.toClient.close(client);
    this.toService.close(service);
    return this.toClient.isClosed && this.toService.isClosed;
  }
}
