// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Setting {
  /** Name in the configuration file. */
  readonly name: string;
  /** Value in effect; null if it is unset. A secret is "********". */
  readonly value: string | number | boolean | readonly string[] | Readonly<Record<string, unknown>> | null;
  /** Where the value comes from: a flag, a variable, a line of a file, or "default". */
  readonly source: string;
  /** Whether the value, or a part of it, is secret. */
  readonly secret: boolean;
  /** What the setting does. */
  readonly description: string;
}

export interface SettingPage {
  /** All settings, in the order of the documentation. */
  readonly settings: readonly Setting[];
  /** Path of the configuration file that the node read at its start; null if it read none. */
  readonly config_file: string | null;
  /** URI of the list. */
  readonly uri: string;
  /** Always null: the list has one page. */
  readonly next_page_uri: null;
}

export interface SettingQuery {
  /**
   * Only results for which this CEL expression over `obj` is true, such as `obj.metadata == "prod" &&
   * obj.created_at > timestamp("2026-11-01T00:00:00Z")`. A page can have fewer results than `limit`, or none, and
   * still a next page.
   */
  readonly filter?: string | undefined;
  /**
   * Orders the results by this field, with "-" in front in descending order; equal ones newest first. A list with
   * more than 10,000 results cannot be ordered: use `q` or `filter` too. The header Postern-Count has the number
   * of results.
   */
  readonly order_by?: string | undefined;
  /**
   * Only results in which every word of this text occurs, in any case: in names, hosts, addresses, email addresses
   * and ids of the result, or of what it refers to. The header Postern-Count has the number of results.
   */
  readonly q?: string | undefined;
}

/** A setting of the server, as in its configuration file. */
export class SettingsClient extends ResourceClient {
  /** List settings in effect: every one. */
  list(query?: SettingQuery, options?: RequestOptions): AsyncGenerator<Setting, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/settings', query }, 'settings', options);
  }

  /** List settings in effect: one page. */
  page(query?: SettingQuery, options?: RequestOptions): Promise<Answer<SettingPage>> {
    return this.call({ method: 'GET', path: '/settings', query }, options);
  }
}
