export { type Answer, type Answered, type ResponseInfo, responseOf } from './answer.ts';
export { type ConnectionFailure, PosternApiError, PosternConnectionError } from './call-errors.ts';
export type * from './generated/resources.ts';
export type { PageQuery } from './page-query.ts';
export { PosternClient } from './postern-client.ts';
export type { Ref } from './ref.ts';
export type { ConditionalOptions, CreateOptions, RequestOptions, WriteOptions } from './request-options.ts';
export type { ClientOptions, RetryPolicy } from './transport.ts';
