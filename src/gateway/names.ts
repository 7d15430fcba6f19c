import { randomBytes, randomInt } from 'node:crypto';

const ADJECTIVES =
  'amber,brisk,calm,clear,cosy,crisp,dapper,early,fair,fleet,gentle,glad,golden,hardy,jolly,keen,kind,light,lively,lucky,mellow,merry,neat,nimble,noble,plain,proud,quick,quiet,rapid,ruddy,silver,sleek,snug,sober,steady,sunny,swift,tidy,vivid,warm,witty'.split(
    ',',
  );
const NOUNS =
  'acorn,badger,beacon,birch,brook,cedar,cliff,cloud,comet,coral,cove,crane,dune,ember,falcon,fern,finch,fjord,flint,gate,glade,harbor,hazel,heron,island,jetty,lantern,larch,linden,maple,meadow,moss,oak,otter,pebble,pine,quay,raven,reef,ridge,river,robin,sparrow,spruce,stone,tern,thistle,tower,valley,willow,wren'.split(
    ',',
  );
/** Without letters that are easily confused. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const RANDOM_CHARACTERS = 10;

/** A name that is easy to read aloud and hard to guess: the last part alone has 49 random bits. */
export function ephemeralName(): string {
  const bytes = randomBytes(RANDOM_CHARACTERS * 2);
  let random = '';
  for (const byte of bytes) {
    // Bytes beyond the last whole multiple would make some letters more likely than others.
    if (byte < 256 - (256 % ALPHABET.length) && random.length < RANDOM_CHARACTERS)
      random += ALPHABET[byte % ALPHABET.length];
  }
  if (random.length < RANDOM_CHARACTERS) return ephemeralName();
  return `${ADJECTIVES[randomInt(ADJECTIVES.length)]}-${NOUNS[randomInt(NOUNS.length)]}-${random}`;
}
