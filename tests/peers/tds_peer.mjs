// A scripted peer that speaks TDS 7.4, for tests of the driver without a server.
//
// usage: node tds_peer.mjs [key.pem cert.pem]   With a key it offers TLS and insists on it.
//
// Prints its port, then one line for each request: "login", "batch TEXT" or "rpc TEXT". What it answers hangs on words in the text:
//   types           one row of every kind that the driver reads, and one of NULLs
//   chunked         1 MiB in a VARBINARY(MAX) that comes in chunks
//   fails NUMBER    that error, in the middle of a batch: after a first result
//   hang up         nothing, and the connection is closed
//   lost commit     done, and the connection is closed when the COMMIT comes
//   never           nothing at all
//   @@TRANCOUNT     1
//   arrived         how many U+1F4EE and how many bytes 0x07 the request holds
// anything else is done without a result.
import net from 'node:net';
import tls from 'node:tls';
import fs from 'node:fs';
import { Duplex } from 'node:stream';

const utf16 = (text) => Buffer.from(text, 'utf16le');
const short = (number) => { const b = Buffer.alloc(2); b.writeUInt16LE(number); return b; };
const long = (number) => { const b = Buffer.alloc(4); b.writeUInt32LE(number); return b; };
const huge = (number) => { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt(number)); return b; };
const byteText = (text) => Buffer.concat([Buffer.from([text.length]), utf16(text)]);
const token = (type, body) => Buffer.concat([Buffer.from([type]), short(body.length), body]);

const done = (more = false, failed = false) =>
  Buffer.concat([Buffer.from([0xfd]), short((more ? 1 : 0) + (failed ? 2 : 0)), short(0), huge(0)]);
const change = (type, now, before) => token(0xe3, Buffer.concat([Buffer.from([type]), byteText(now), byteText(before)]));
const acknowledgement = token(0xad, Buffer.concat([Buffer.from([1, 0x74, 0, 0, 4]), byteText('Scripted'), Buffer.from([16, 0, 0, 0])]));
const complaint = (number, words) => token(0xaa, Buffer.concat([
  long(number), Buffer.from([1, 16]), short(words.length), utf16(words), byteText('peer'), byteText(''), long(1)]));

// Columns: [name, type as TDS describes it]. Values stand as the type wants them.
const collation = Buffer.from([0x09, 0x04, 0xd0, 0x00, 0x34]);
const types = {
  bigint: Buffer.from([0x26, 8]),
  nvarchar: Buffer.concat([Buffer.from([0xe7]), short(8000), collation]),
  varbinaryMax: Buffer.concat([Buffer.from([0xa5]), short(0xffff)]),
  datetime2: Buffer.from([0x2a, 6]),
};
const nulls = {
  bigint: Buffer.from([0]), nvarchar: short(0xffff), varbinaryMax: Buffer.alloc(8, 0xff), datetime2: Buffer.from([0]),
};
const columns = (list) => Buffer.concat([Buffer.from([0x81]), short(list.length),
  ...list.map(([name, type]) => Buffer.concat([long(0), short(9), types[type], byteText(name)]))]);
const row = (...values) => Buffer.concat([Buffer.from([0xd1]), ...values]);
const bigint = (number) => { const b = Buffer.alloc(9); b[0] = 8; b.writeBigInt64LE(BigInt(number), 1); return b; };
const nvarchar = (text) => Buffer.concat([short(2 * text.length), utf16(text)]);
const chunks = (...parts) => Buffer.concat([huge(parts.reduce((sum, part) => sum + part.length, 0)),
  ...parts.flatMap((part) => [long(part.length), part]), long(0)]);
// Microseconds of the day in 5 bytes, days since the year 1 in 3.
const datetime2 = (micros, days) => {
  const b = Buffer.alloc(9);
  b[0] = 8;
  b.writeUIntLE(micros, 1, 5);
  b.writeUIntLE(days, 6, 3);
  return b;
};

const everyKind = [['number', 'bigint'], ['text', 'nvarchar'], ['bytes', 'varbinaryMax'], ['time', 'datetime2']];
const answerTypes = () => Buffer.concat([
  columns(everyKind),
  row(bigint('-9223372036854775808'), nvarchar('caf\u00e9 \u{1F4EE} '), chunks(Buffer.from([0, 255]), Buffer.from([1])),
    datetime2(43200000001, 719162)),
  row(nulls.bigint, nulls.nvarchar, nulls.varbinaryMax, nulls.datetime2), done()]);
const answerChunked = () => Buffer.concat([
  columns([['bytes', 'varbinaryMax']]), row(chunks(...Array.from({ length: 16 }, (_, i) => Buffer.alloc(65536, i)))), done()]);
const answerNumber = (number) => Buffer.concat([columns([['n', 'bigint']]), row(bigint(number)), done()]);

const countOf = (body, part) => {
  let count = 0;
  for (let at = body.indexOf(part); at !== -1; at = body.indexOf(part, at + part.length)) count += 1;
  return count;
};
const answerArrived = (body) => Buffer.concat([columns([['envelopes', 'bigint'], ['sevens', 'bigint']]),
  row(bigint(countOf(body, utf16('\u{1F4EE}'))), bigint(countOf(body, Buffer.from([7])))), done()]);

function answer(text, body) {
  if (body.includes(utf16('arrived'))) return answerArrived(body);
  const fails = /fails (\d+)/.exec(text);
  if (fails) {
    return Buffer.concat([columns([['n', 'bigint']]), row(bigint(1)), done(true), complaint(Number(fails[1]), 'as the script says'),
      done(false, true)]);
  }
  if (text.includes('@@TRANCOUNT')) return answerNumber(1);
  if (text.includes('types')) return answerTypes();
  if (text.includes('chunked')) return answerChunked();
  return done();
}

function packets(body) {
  const out = [];
  for (let at = 0; at === 0 || at < body.length; at += 4088) {
    const part = body.subarray(at, at + 4088);
    const head = Buffer.from([4, at + 4088 >= body.length ? 1 : 0, 0, 0, 0, 0, 1, 0]);
    head.writeUInt16BE(8 + part.length, 2);
    out.push(head, part);
  }
  return Buffer.concat(out);
}

// During the handshake TLS records travel inside TDS packets of type 0x12; behind it packets travel inside TLS. That is the way of
// TLS 1.2: tickets of 1.3 would come too late to be wrapped.
class Wrapped extends Duplex {
  constructor(socket) {
    super();
    this.socket = socket;
    this.plain = false;
  }
  _read() {}
  _write(data, _encoding, next) {
    if (this.plain) return this.socket.write(data, next);
    const head = Buffer.from([0x12, 1, 0, 0, 0, 0, 1, 0]);
    head.writeUInt16BE(8 + data.length, 2);
    this.socket.write(Buffer.concat([head, data]), next);
  }
}

const [keyFile, certificateFile] = process.argv.slice(2);
const secure = keyFile && { key: fs.readFileSync(keyFile), cert: fs.readFileSync(certificateFile), isServer: true,
  maxVersion: 'TLSv1.2' };

function serve(socket) {
  let pending = Buffer.alloc(0);
  let parts = [];
  let out = socket;
  let wrapped;
  let closesAt = 'hang up';
  const request = (type, body) => {
    if (type === 0x12) {
      const options = Buffer.from([0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff]);
      out.write(packets(Buffer.concat([options, Buffer.from([16, 0, 0, 0, 0, 0, secure ? 3 : 2])])));
      if (secure) {
        wrapped = new Wrapped(socket);
        const inside = new tls.TLSSocket(wrapped, secure);
        inside.on('error', () => socket.destroy());
        out = inside;
        inside.on('data', take);
      }
    } else if (type === 0x10) {
      console.log('login');
      out.write(packets(Buffer.concat([change(1, 'shop', 'master'), acknowledgement, change(4, '4096', '4096'), done()])));
    } else {
      const headers = body.length > 4 ? body.readUInt32LE(0) : 0;
      const text = body.subarray(headers < body.length ? headers : 0).toString('utf16le');
      const readable = text.replace(/[^\x20-\x7e]/g, '');
      console.log(`${type === 1 ? 'batch' : 'rpc'} ${readable}`);
      if (readable.includes(closesAt)) return socket.destroy();
      if (readable.includes('lost commit')) closesAt = 'COMMIT';
      if (!readable.includes('never')) out.write(packets(answer(readable, body)));
    }
  };
  const take = (data) => {
    pending = Buffer.concat([pending, data]);
    while (pending.length >= 8 && pending.length >= pending.readUInt16BE(2)) {
      const size = pending.readUInt16BE(2);
      const [type, last] = [pending[0], pending[1] & 1];
      parts.push(pending.subarray(8, size));
      pending = pending.subarray(size);
      if (!last) continue;
      const body = Buffer.concat(parts);
      parts = [];
      request(type, body);
    }
  };
  socket.on('error', () => {});
  socket.on('data', (data) => {
    if (!wrapped) return take(data);
    // The handshake is over when something comes that is not wrapped.
    wrapped.plain ||= data[0] !== 0x12;
    if (wrapped.plain) return wrapped.push(data);
    for (let at = 0; at + 8 <= data.length;) {
      const size = data.readUInt16BE(at + 2);
      wrapped.push(data.subarray(at + 8, at + size));
      at += size;
    }
  });
}

const server = net.createServer(serve);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
