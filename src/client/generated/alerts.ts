// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Alert {
  /** Id, starting with "al_". */
  readonly id: string;
  /** URI of the alert. */
  readonly uri: string;
  /** What kind of thing is wrong. */
  readonly kind: string;
  /** What it is about: an id, a name of a node, or an agent. */
  readonly subject: string;
  /** What is wrong, in one line. */
  readonly title: string;
  /** What to do. */
  readonly advice: string;
  /** Name of the node that raised it. */
  readonly node: string;
  /** When it was raised. */
  readonly raised_at: string;
  /** "dismissed": somebody has dismissed it; it ends with its cause. "resolved" only in the event that reports it. */
  readonly status: 'raised' | 'dismissed' | 'resolved';
  /** When somebody dismissed it; null: nobody has. */
  readonly dismissed_at: string | null;
  /** When it was resolved; null while it is raised. */
  readonly resolved_at: string | null;
}

export interface AlertPage {
  /** The page, newest first. */
  readonly alerts: readonly Alert[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * Something that is wrong now: an agent that is away, a failing backend, a certificate, a stuck delivery, a full
 * disk, a lost node.
 */
export class AlertsClient extends ResourceClient {
  /** List raised alerts: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<Alert, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/alerts', query }, 'alerts', options);
  }

  /** List raised alerts: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<AlertPage>> {
    return this.call({ method: 'GET', path: '/alerts', query }, options);
  }

  /** Get an alert. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<Alert>> {
    return this.call({ method: 'GET', path: '/alerts/{id}', params: { id } }, options);
  }

  /**
   * Dismiss an alert. Takes an alert out of the list of problems: somebody knows of it. It stays in the list of
   * alerts, and ends with its cause. If the cause comes back later, the alert is raised again.
   */
  dismiss(id: string, options?: RequestOptions): Promise<Answer<Alert>> {
    return this.call({ method: 'POST', path: '/alerts/{id}/dismiss', params: { id } }, options);
  }
}
