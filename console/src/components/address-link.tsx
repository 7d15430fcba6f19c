import { href } from '../router/location.ts';

/** A visitor who did not log in: the link leads to everything from this address. */
export function AddressLink({ address }: { address: string }) {
  return (
    <a class="mono" href={href(`/traffic?q=${encodeURIComponent(address)}`)}>
      {address}
    </a>
  );
}
