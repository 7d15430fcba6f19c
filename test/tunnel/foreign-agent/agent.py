"""An agent in Python without libraries, written from docs/reference/tunnel-protocol.md alone, to see that the page suffices.

Usage: agent.py HOST:PORT SERVER_NAME CA_FILE < token. Opens an https tunnel that only loopback may use, and a tcp tunnel that echoes.
Prints each control message that it receives; "bye" on standard input ends the session.
"""
import json, socket, ssl, struct, sys, threading

DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK, PADDED, PRIORITY = 1, 4, 1, 8, 32
REFUSED_STREAM = 7

# RFC 7541, Appendix A, and the code lengths of the canonical Huffman code of Appendix B.
STATIC = """:authority= :method=GET :method=POST :path=/ :path=/index.html :scheme=http :scheme=https :status=200 :status=204
:status=206 :status=304 :status=400 :status=404 :status=500 accept-charset= accept-encoding=gzip,_deflate accept-language=
accept-ranges= accept= access-control-allow-origin= age= allow= authorization= cache-control= content-disposition=
content-encoding= content-language= content-length= content-location= content-range= content-type= cookie= date= etag= expect=
expires= from= host= if-match= if-modified-since= if-none-match= if-range= if-unmodified-since= last-modified= link= location=
max-forwards= proxy-authenticate= proxy-authorization= range= referer= refresh= retry-after= server= set-cookie=
strict-transport-security= transfer-encoding= user-agent= vary= via= www-authenticate="""
STATIC = [tuple(entry.replace("_", " ").rsplit("=", 1)) for entry in STATIC.split()]
# One character per symbol: "5" is 5 bits, "N" is 30.
LENGTHS = """=GLLLLLLLHNLLNLLLLLLLLNLLLLLLLLL6::<=68;::8;8666555666666678?6<:=67777777777777777777777878=C=>6?565
65666577666567655677777?;>=LDFDDFFFGFGGGGGHGHHFGHGGGGEFGFGGHFEDFFGGEGFFHEFGGEEFEGFGGDFFFGFFGJJDCFGFI
JJJKKJHICEJKKJKHEEJJLKKKDHDEFEEGFFIIHHJGJKJJKKKKKLKKKKKJN"""
LENGTHS = [ord(letter) - 48 for letter in LENGTHS if letter != "\n"]


def huffman_codes():
    code, last, codes = 0, 0, {}
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(LENGTHS)):
        code <<= length - last
        codes[(length, code)], code, last = symbol, code + 1, length
    return codes


CODES = huffman_codes()


def unhuffman(data):
    out, length, code = bytearray(), 0, 0
    for byte in data:
        for bit in range(7, -1, -1):
            length, code = length + 1, code << 1 | byte >> bit & 1
            if (length, code) in CODES:
                out.append(CODES[(length, code)])
                length, code = 0, 0
    return bytes(out)


class Decoder:
    """HPACK (RFC 7541)."""

    def __init__(self):
        self.dynamic, self.limit = [], 4096

    def decode(self, block):
        self.block, self.at, heads = block, 0, []
        while self.at < len(block):
            first = block[self.at]
            if first & 0x80:
                heads.append(self.entry(self.number(7)))
            elif first & 0xE0 == 0x20:
                self.limit = self.number(5)
            else:
                is_indexed = first & 0x40
                index = self.number(6 if is_indexed else 4)
                head = (self.entry(index)[0] if index else self.text(), self.text())
                heads.append(head)
                if is_indexed:
                    self.dynamic.insert(0, head)
            while sum(len(name) + len(value) + 32 for name, value in self.dynamic) > self.limit:
                self.dynamic.pop()
        return heads

    def entry(self, index):
        return STATIC[index - 1] if index <= len(STATIC) else self.dynamic[index - len(STATIC) - 1]

    def number(self, bits):
        value = self.block[self.at] & (1 << bits) - 1
        self.at += 1
        if value < (1 << bits) - 1:
            return value
        shift = 0
        while True:
            byte = self.block[self.at]
            self.at, value, shift = self.at + 1, value + ((byte & 0x7F) << shift), shift + 7
            if byte < 0x80:
                return value

    def text(self):
        is_huffman = self.block[self.at] & 0x80
        length = self.number(7)
        data = self.block[self.at : self.at + length]
        self.at += length
        return (unhuffman(data) if is_huffman else data).decode("latin1")


def encode(heads):
    """Literals without indexing and without Huffman: always allowed."""
    texts = [text.encode("latin1") for head in heads for text in head]
    assert all(len(text) < 127 for text in texts)
    pairs = zip(texts[::2], texts[1::2])
    return b"".join(b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in pairs)


class Agent:
    def __init__(self, address, server_name, ca_file, token):
        # Section 1, step 1.
        host, port = address.rsplit(":", 1)
        context = ssl.create_default_context(cafile=ca_file)
        context.set_alpn_protocols(["postern/1"])
        plain = socket.create_connection((host, int(port)))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname=server_name)
        if self.socket.selected_alpn_protocol() != "postern/1":
            raise SystemExit("the server speaks another protocol")
        self.token, self.lock, self.decoder = token, threading.Lock(), Decoder()
        self.control, self.line, self.tunnels, self.streams = None, b"", {}, {}

    def send(self, kind, flags, stream, payload=b""):
        with self.lock:
            self.socket.sendall(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload)

    def read(self, length):
        data = b""
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            if part == b"":
                raise SystemExit("closed")
            data += part
        return data

    def say(self, **message):
        self.send(DATA, 0, self.control, json.dumps(message).encode() + b"\n")

    def run(self):
        # Step 2: we are the HTTP/2 server. The settings are those of the table, the connection window is grown to its size.
        values = [(8, 1), (3, 1001), (6, 147072), (4, 33554432)]
        self.send(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *value) for value in values))
        self.send(WINDOW, 0, 0, struct.pack(">I", 134217728 - 65535))
        if self.read(24) != b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":
            raise SystemExit("no preface")
        while True:
            head = self.read(9)
            length, kind, flags, stream = int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:], "big")
            self.frame(kind, flags, stream, self.read(length))

    def frame(self, kind, flags, stream, payload):
        if flags & PADDED and kind in (DATA, HEADERS):
            payload = payload[1 : len(payload) - payload[0]]
        if kind == SETTINGS and not flags & ACK:
            self.send(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        elif kind == HEADERS:
            self.block, self.ends = payload[5:] if flags & PRIORITY else payload, flags & END_STREAM
        elif kind == CONTINUATION:
            self.block += payload
        elif kind == DATA:
            self.data(stream, payload, flags & END_STREAM)
        elif kind == RST:
            self.streams.pop(stream, None)
        if kind in (HEADERS, CONTINUATION) and flags & END_HEADERS:
            self.opened(stream, self.decoder.decode(self.block))

    def opened(self, stream, heads):
        pseudo = dict(head for head in heads if head[0].startswith(":"))
        if self.control is None:
            # Step 3.
            expected = {":method": "POST", ":scheme": "https", ":path": "/control", ":authority": "gateway"}
            if pseudo != expected:
                raise SystemExit("this is no gateway")
            self.control = stream
            self.send(HEADERS, END_HEADERS, stream, encode([(":status", "200")]))
            # Step 4.
            self.say(t="hello", version=1, token=self.token, agent_version="python", os="test", metadata="", remote_management=False)
            return
        if stream in self.streams:  # trailers
            return
        # Section 5.
        is_connect = pseudo[":method"] == "CONNECT"
        tunnel = pseudo[":authority"] if is_connect else dict(heads).get("postern-tunnel")
        if self.tunnels.get(tunnel) != ("tcp" if is_connect else "https"):
            self.send(HEADERS, END_HEADERS | END_STREAM, stream, encode([(":status", "404")]))
        elif is_connect:
            self.streams[stream] = "echo"
            self.send(HEADERS, END_HEADERS, stream, encode([(":status", "200")]))
        else:
            self.streams[stream] = "%s %s %s" % (pseudo[":method"], pseudo[":authority"], pseudo[":path"])
            if self.ends:
                self.answer(stream)

    def answer(self, stream):
        text = self.streams.pop(stream).encode()
        heads = [(":status", "200"), ("content-type", "text/plain"), ("content-length", str(len(text)))]
        self.send(HEADERS, END_HEADERS, stream, encode(heads))
        self.send(DATA, END_STREAM, stream, text)

    def data(self, stream, payload, ends):
        if payload:
            for window in (0, stream):
                self.send(WINDOW, 0, window, struct.pack(">I", len(payload)))
        if stream == self.control:
            *lines, self.line = (self.line + payload).split(b"\n")
            for line in lines:
                self.told(json.loads(line))
        elif self.streams.get(stream) == "echo":
            self.send(DATA, END_STREAM if ends else 0, stream, payload)
        elif stream in self.streams and ends:
            self.answer(stream)

    def told(self, message):
        # Section 2.
        print(json.dumps(message), flush=True)
        if message["t"] == "welcome":
            loopback = {"ip_restriction": {"allow": ["127.0.0.0/8"], "deny": []}}
            self.say(t="bind", ref=1, proto="https", metadata="", forwards_to="python", modules=loopback)
            self.say(t="bind", ref=2, proto="tcp", metadata="", forwards_to="python")
        elif message["t"] == "bound":
            self.tunnels[message["id"]] = message["proto"]
        elif message["t"] == "refused":
            raise SystemExit(message["message"])


agent = Agent(sys.argv[1], sys.argv[2], sys.argv[3], sys.stdin.readline().strip())
threading.Thread(target=lambda: [agent.say(t="bye") for line in sys.stdin if line == "bye\n"], daemon=True).start()
agent.run()
