import type { JsonObject } from '../../lib/json.ts';
import type { AddressTable } from '../../lib/net/address-list/address-table.ts';

/** Lists of addresses that the node loads for all of its threads. */
export interface AddressLists {
  /** The addresses of a list, by its id and configuration. For `countries`: those of all countries. */
  of(id: string, config: JsonObject): LoadedAddresses;
}

/** `problem`: why they are not loaded. */
export type LoadedAddresses = { readonly addresses: AddressTable } | { readonly problem: string };
