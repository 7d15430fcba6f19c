import type { FoundRequests } from '../../telemetry/requests/installation-requests.ts';
import type { RequestFilter } from '../../telemetry/requests/request-filter.ts';

export interface RequestsPort {
  find(id: string): Promise<FoundRequests>;
  /** Newest first. */
  list(filter: RequestFilter, limit: number): Promise<FoundRequests>;
}
