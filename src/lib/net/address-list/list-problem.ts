/** Why bytes are not a usable list. The message follows the name of the list, and never quotes what the bytes say. */
export class AddressListProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AddressListProblem';
  }
}
