import {
  type ChannelOptions,
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientWritableStream,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Cleanup } from '../cleanup.ts';
import type { EdgeClients } from '../edge-clients.ts';
import { EchoClient } from './grpc-service.ts';

export interface Reply {
  readonly value: Buffer;
  readonly head: Metadata;
  readonly trailers: Metadata;
}

export interface Calls extends Client {
  unary(request: Buffer, ...rest: unknown[]): never;
  fail(request: Buffer, ...rest: unknown[]): never;
  never(request: Buffer, ...rest: unknown[]): never;
  collect(done: (error: ServiceError | null, value: Buffer) => void): ClientWritableStream<Buffer>;
  repeat(request: Buffer): ClientReadableStream<Buffer>;
  chat(): ClientDuplexStream<Buffer, Buffer>;
}

/** A client of the service at this host of an edge. */
export function clientOf(test: Cleanup, edge: EdgeClients, host: string, options: ChannelOptions = {}): Calls {
  const trust = credentials.createSsl(Buffer.from(edge.ca.join('\n')));
  const client = new EchoClient(`${edge.address}:${edge.port}`, trust, {
    'grpc.ssl_target_name_override': host,
    'grpc.default_authority': host,
    'grpc.max_receive_message_length': -1,
    ...options,
  }) as unknown as Calls;
  test.after(async () => client.close());
  return client;
}

export function call(
  client: Calls,
  name: 'unary' | 'fail' | 'never',
  request: Buffer,
  metadata = new Metadata(),
  options = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let head = new Metadata();
    let value: Buffer = Buffer.alloc(0);
    const started = client[name](request, metadata, options, (error: ServiceError | null, answer: Buffer) => {
      if (error === null) value = answer;
      else reject(error);
    }) as NodeJS.EventEmitter;
    started.on('metadata', (got: Metadata) => {
      head = got;
    });
    started.on('status', ({ metadata: trailers }: { metadata: Metadata }) => resolve({ value, head, trailers }));
  });
}
