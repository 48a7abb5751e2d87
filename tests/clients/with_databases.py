"""with_databases.py <program> <command...>: runs the command with a PostgreSQL and a MariaDB database of its own in
CLIENT_POSTGRES and CLIENT_MARIADB (JSON with host, port, user, password, database), each with the tables of Postroom
and of a small application; removes them afterwards."""

import json
import os
import subprocess
import sys
import urllib.parse

import psycopg2
import pymysql

TABLES = ("CREATE TABLE orders (id int PRIMARY KEY)", "CREATE TABLE shipments (order_id int)")


def server(name):
    path = os.path.join(os.environ["POSTROOM_TEST_SERVERS"], name, name + ".env")
    with open(path, encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split("=", 1) for line in lines if "=" in line)


def main():
    program, command = sys.argv[1], sys.argv[2:]
    name = f"postroom_clients_{os.getpid()}"
    pg, my = server("postgres"), server("mariadb")
    # The program warns of variables that it does not know.
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_TEST_")}
    targets = {
        "CLIENT_POSTGRES": {"host": pg["host"], "port": int(pg["port"]), "user": pg["user"], "password": pg.get("password", ""),
                            "database": name},
        "CLIENT_MARIADB": {"host": my["host"], "port": int(my["port"]), "user": my["user"], "password": my["password"],
                           "database": name},
    }
    admin_pg = psycopg2.connect(host=pg["host"], port=pg["port"], user=pg["user"], dbname="postgres")
    admin_pg.autocommit = True
    # The password has a letter that PyMySQL would send in another encoding.
    admin_my = pymysql.connect(host=my["host"], port=int(my["port"]), user=my["user"], password=my["password"].encode(),
                               autocommit=True)
    admin_pg.cursor().execute(f"CREATE DATABASE {name}")
    admin_my.cursor().execute(f"CREATE DATABASE {name}")
    try:
        for variable, scheme in (("CLIENT_POSTGRES", "postgresql"), ("CLIENT_MARIADB", "mysql")):
            at = targets[variable]
            secret = urllib.parse.quote(at["password"], safe="")
            url = f"{scheme}://{at['user']}{':' + secret if secret else ''}@{at['host']}:{at['port']}/{name}"
            subprocess.run([program, "migrate", "up"], check=True, env=dict(surroundings, POSTROOM_URL=url),
                           stdout=subprocess.DEVNULL)
        with psycopg2.connect(host=pg["host"], port=pg["port"], user=pg["user"], dbname=name) as db:
            for sql in TABLES:
                db.cursor().execute(sql)
        db.close()
        admin_my.select_db(name)
        for sql in TABLES:
            admin_my.cursor().execute(sql)
        environment = {variable: json.dumps(at) for variable, at in targets.items()}
        return subprocess.run(command, env=dict(surroundings, CLIENT_PROGRAM=program, **environment)).returncode
    finally:
        admin_pg.cursor().execute(f"DROP DATABASE {name} WITH (FORCE)")
        admin_my.cursor().execute(f"DROP DATABASE {name}")


if __name__ == "__main__":
    sys.exit(main())
